"""Local training on the CPU: one model at a time per thread."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
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
from sifu.models.layer_calls import LayerCalls


class _Task(NamedTuple):
    weights: Tensor  # [P] the start, then the result
    images: Tensor  # [n, ...]
    labels: Tensor  # [n]
    batches: Tensor  # [K, B'] rows of the examples
    masks: Sequence[Tensor | None]  # [K] the keys of the steps' dropout masks


@dataclass(frozen=True)
class PooledTrainer:
    model: FlatModel
    clients: Clients
    federation: Federation
    workers: Workers

    def __call__(self, start: Tensor, seeds: Tensor, cohort: Tensor, batches: Batches) -> Tensor:
        local = start.unsqueeze(1).repeat(1, cohort.shape[1], 1)  # [R, m, P]
        masks = [batches.mask_keys(step) for step in range(batches.index.shape[2])]
        tasks = []
        for r, s in enumerate(seeds.tolist()):
            for j, c in enumerate(cohort[r].tolist()):
                if c >= 0:
                    index = batches.index[r, j, :, : int(batches.count[r, j])]
                    data = self.clients.images[s, c], self.clients.labels[s, c]
                    tasks.append(
                        _Task(local[r, j], *data, index, [None if keys is None else keys.state[r, j] for keys in masks])
                    )
        self.workers.map(self._train, tasks)
        return local

    def _train(self, task: _Task) -> None:
        weights = task.weights.clone()  # rows of one tensor share autograd's version counter; threads must not
        velocity = torch.zeros_like(weights)
        for rows, key in zip(task.batches, task.masks, strict=True):
            leaf = weights.detach().requires_grad_()
            images = task.images[rows].contiguous(memory_format=self.model.memory_format)
            with nullcontext() if key is None else LayerCalls(key):
                logits = self.model.logits(leaf, images, training=True)
            loss = cross_entropy(logits, task.labels[rows])
            (gradient,) = torch.autograd.grad(loss, leaf)
            sgd_step(weights, velocity, gradient, self.federation)
        task.weights.copy_(weights)
