"""Many models of one federation: they train on the same clients, whose data are held once."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import torch
from torch import Tensor

from sifu.core.types import Clients
from sifu.federation.engine import Engine
from sifu.federation.evaluation import Evaluator
from sifu.federation.local import LocalTrainer
from sifu.federation.local.batches import Batches
from sifu.federation.local.dual import DualTrainer
from sifu.federation.local.guided import GuidedTrainer
from sifu.federation.local.vmapped import VmappedTrainer
from sifu.federation.rounds import Rounds
from sifu.models.logistic import Logistic

_EVALUATED = 25  # models of one product on the CPU: their logits should stay in cache


@dataclass(frozen=True)
class SharedEngine(Engine):
    """An engine whose rows are models of one federation. Its clients are a view: every row shows the same data."""

    single: Rounds = field(kw_only=True)  # the federation, with one row

    @staticmethod
    def of(engine: Engine, num_models: int) -> SharedEngine:
        """An engine for `num_models` models on the data of the first row of `engine`."""
        one, own = _rows(engine.clients, 1), None if engine.server_data is None else _rows(engine.server_data, 1)
        single = Rounds(engine.model, one, engine.federation, engine.workers, server_data=own)
        test = engine.test_data  # one row, which all models share
        found = SharedEngine(engine.model, one, engine.federation, engine.workers, single=single, test_data=test)
        return found.sized(num_models)

    def sized(self, num_models: int) -> SharedEngine:
        """The same for another number of models; what was computed of the data is kept."""
        own = self.single.server_data
        data = None if own is None else _rows(own, num_models)
        return replace(self, clients=_rows(self.single.clients, num_models), server_data=data)

    @cached_property
    def trainer(self) -> LocalTrainer:
        trainer = replace(self.single, optimiser=self.optimiser).trainer if self.optimiser else self.single.trainer
        if isinstance(trainer, DualTrainer) and self.workers is not None:
            return ByClientTrainer(trainer.model, trainer.clients, trainer.federation, trainer.workers)
        return _FirstRow(trainer)

    @cached_property
    def evaluator(self) -> Evaluator:
        return _SharedEvaluator(self.model, self.single.clients, self.workers)

    @cached_property
    def is_exact(self) -> bool:
        """One row cannot show whether a batch changes the bits: where it might, every round is kept."""
        batched = self.optimiser is not None or isinstance(self.single.trainer, VmappedTrainer | GuidedTrainer)
        return not batched or self.clients.images.device.type == "cpu"


@dataclass(frozen=True)
class _FirstRow:
    """A trainer for which every row has the data of row 0."""

    trainer: LocalTrainer

    def __call__(self, start: Tensor, seeds: Tensor, cohort: Tensor, batches: Batches) -> Tensor:
        return self.trainer(start, torch.zeros_like(seeds), cohort, batches)


class _SharedEvaluator(Evaluator):
    """An evaluator for which every row has the data of row 0."""

    def correct(self, weights: Tensor, seeds: Tensor) -> Tensor:
        several = weights.shape[1] > self.model.num_weights  # side by side
        if self.workers is None or type(self.model.module) is not Logistic or several:
            return super().correct(weights, torch.zeros_like(seeds))
        parts = self.workers.map(self._correct_of_many, weights.split(_EVALUATED))
        return torch.cat(parts) if parts else super().correct(weights, torch.zeros_like(seeds))

    def _correct_of_many(self, weights: Tensor) -> Tensor:
        """As `correct`, of logistic regressions [R, P] in one product. [R, C]"""
        matrix, bias = self.model.split(weights)  # [R, classes * D], [R, classes]
        images, labels = self.clients.images[0].flatten(2), self.clients.labels[0]  # [C, n, D], [C, n]
        rows = matrix.unflatten(-1, self.model.shapes[0]).flatten(0, 1)  # [R * classes, D]
        logits = (images.flatten(0, 1) @ rows.T).unflatten(1, bias.shape) + bias  # [C * n, R, classes]
        right = logits.argmax(-1).unflatten(0, labels.shape) == labels.unsqueeze(-1)  # [C, n, R]
        return (right & self.clients.real()[0].unsqueeze(-1)).sum(1).T

    def accuracy(self, weights: Tensor, seeds: Tensor, available: Tensor) -> Tensor:
        return super().accuracy(weights, torch.zeros_like(seeds), available)


class ByClientTrainer(DualTrainer):
    """Logistic regression on the CPU, client by client: one product trains a client's model in all rows at once.

    Its sums may round differently with other rows in the batch.
    """

    def __call__(self, start: Tensor, seeds: Tensor, cohort: Tensor, batches: Batches) -> Tensor:
        weight = batches.dense(self.clients.images.shape[2], start.dtype)  # [R, m, K, n]
        local = start.unsqueeze(1).repeat(1, cohort.shape[1], 1)  # [R, m, P]
        self._gram, self._targets  # noqa: B018  # computed once here, not by several threads at the same time

        def train(client: int) -> None:
            row, place = (cohort == client).nonzero(as_tuple=True)
            local[row, place] = self._train_one(start[row], client, weight[row, place])

        assert self.workers is not None
        self.workers.map(train, cohort[cohort >= 0].unique().tolist())
        return local

    def _train_one(self, start: Tensor, client: int, weight: Tensor) -> Tensor:
        """One client from `start` [q, P] with `weight` [q, K, n] -> weights [q, P]."""
        images = self._images[0, client]  # [n, D]
        matrix, bias = self._unflatten(start)  # [q, classes, D], [q, classes]
        logits = (matrix.flatten(0, 1) @ images.T).unflatten(0, bias.shape).transpose(1, 2) + bias.unsqueeze(1)
        gram, targets = (part[0, client].expand(len(start), -1, -1) for part in (self._gram, self._targets))
        kept, coefficients = self._descend(logits, gram, targets, weight)  # [q, n, classes]
        change = (coefficients.transpose(1, 2).flatten(0, 1) @ images).unflatten(0, bias.shape)  # [q, classes, D]
        return start * kept + torch.cat([change.flatten(1), coefficients.sum(1)], dim=1)


def _rows(clients: Clients, count: int) -> Clients:
    """The first row, `count` times, without a copy."""
    parts = (getattr(clients, one.name)[:1] for one in fields(clients))
    return Clients(*(part.expand(count, *part.shape[1:]) for part in parts))
