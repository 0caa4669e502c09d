"""Counts the answers of models, so that metrics can be computed from them."""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.core.types import Clients
from sifu.federation.engine import Engine
from sifu.federation.evaluation import Evaluator
from sifu.metrics.metric import Models


def measured(engine: Engine, weights: Tensor, forget: Tensor, forgotten: Tensor, test: Clients | None) -> Models:
    """The answers of models [S, P]; `forget` [S, C]: clients of this request, `forgotten` [S, C]: of all so far."""
    correct = correct_answers(engine, engine.evaluator, weights, torch.arange(len(weights)))
    on_test = None if test is None else _test_accuracy(engine, test, weights)
    return Models(engine, weights, correct, forget, forgotten, on_test, test=test)


def correct_answers(engine: Engine, evaluator: Evaluator, weights: Tensor, rows: Tensor) -> Tensor:
    """Correct answers on each client's data, `rows` [S] of it. A model of infinite weights has none: it would always
    answer with the first class, which is no knowledge. [S, C]
    """
    device = engine.clients.images.device
    correct = evaluator.correct(weights.to(device), rows.to(device)).cpu()
    return correct.where(weights.isfinite().all(1)[:, None], 0)


def _test_accuracy(engine: Engine, test: Clients, weights: Tensor) -> Tensor:
    """Accuracy on the test set. [S]"""
    same = torch.zeros(len(weights), dtype=torch.int64)  # all seeds see the same data
    correct = correct_answers(engine, Evaluator(engine.model, test, engine.workers), weights, same)
    return correct.sum(1).double() / int(test.size.sum())
