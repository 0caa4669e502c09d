"""Rejoining: forgotten clients come back and train with the others until they are known again.

No part of unlearning, and of no cost of it: it asks what was left of them. A model that still holds something of the
clients takes fewer steps than scratch's.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.evaluation import share


class Rejoined(NamedTuple):
    """What it took; all [S]."""

    steps: Tensor  # int64: client steps of all clients
    reached: Tensor  # bool: within the rounds allowed


def accuracy_of(engine: Engine, weights: Tensor, clients: Tensor) -> Tensor:
    """Accuracy of models [S, P] on the data of `clients` [S, C]. [S] float64"""
    rows = torch.arange(len(weights), device=weights.device)
    return share(engine.evaluator.correct(weights, rows).cpu(), engine.clients.size.cpu(), clients.cpu())


def rejoin(
    engine: Engine, weights: Tensor, clients: Tensor, remain: Tensor, target: Tensor, keys: Keys, rounds: int
) -> Rejoined:
    """Train the clients `remain` and `clients` [S, C] from models [S, P] until accuracy on `clients` is `target` [S].

    At most `rounds` rounds; accuracy is evaluated after each.
    """
    weights = weights.to(engine.clients.images.device, copy=True)
    steps, available = torch.zeros(len(weights), dtype=torch.int64), (remain | clients).to(weights.device)
    reached = accuracy_of(engine, weights, clients) >= target
    for number in range(rounds):
        rows = torch.nonzero(~reached).flatten()
        if not len(rows):
            break
        at = rows.to(weights.device)
        result = engine.round(weights[at], at, torch.full_like(at, number), available[at], keys.rows(at))
        weights[at] = result.weights
        steps[rows] += (result.cohort >= 0).sum(1).cpu() * engine.federation.local_steps
        reached = reached | (accuracy_of(engine, weights, clients) >= target)
    return Rejoined(steps, reached)
