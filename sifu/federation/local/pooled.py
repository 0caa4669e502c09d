"""Local training on the CPU: one model at a time per thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from sifu.config.federation import Federation
from sifu.core.types import Clients
from sifu.federation.local.batches import Batches
from sifu.federation.local.sgd import sgd_step
from sifu.hardware.workers import Workers
from sifu.models.flat import FlatModel


class _Task(NamedTuple):
    weights: Tensor  # [P] the start, then the result
    images: Tensor  # [n, ...]
    labels: Tensor  # [n]
    batches: Tensor  # [K, B'] rows of the examples


@dataclass(frozen=True)
class PooledTrainer:
    model: FlatModel
    clients: Clients
    federation: Federation
    workers: Workers

    def __call__(self, start: Tensor, seeds: Tensor, cohort: Tensor, batches: Batches) -> Tensor:
        local = start.unsqueeze(1).repeat(1, cohort.shape[1], 1)  # [R, m, P]
        tasks = []
        for r, s in enumerate(seeds.tolist()):
            for j, c in enumerate(cohort[r].tolist()):
                if c >= 0:
                    index = batches.index[r, j, :, : int(batches.count[r, j])]
                    tasks.append(_Task(local[r, j], self.clients.images[s, c], self.clients.labels[s, c], index))
        self.workers.map(self._train, tasks)
        return local

    def _train(self, task: _Task) -> None:
        weights = task.weights.clone()  # rows of one tensor share autograd's version counter; threads must not
        velocity = torch.zeros_like(weights)
        for rows in task.batches:
            leaf = weights.detach().requires_grad_()
            images = task.images[rows].contiguous(memory_format=self.model.memory_format)
            loss = cross_entropy(self.model.logits(leaf, images), task.labels[rows])
            (gradient,) = torch.autograd.grad(loss, leaf)
            sgd_step(weights, velocity, gradient, self.federation)
        task.weights.copy_(weights)
