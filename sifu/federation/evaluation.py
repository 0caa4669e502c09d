"""Correct answers on each client's own examples: every accuracy is a sum of these counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.func import vmap

from sifu.catalog.lookup import resolve
from sifu.core.types import Clients, real_places
from sifu.hardware.cuda_graph import Recorded
from sifu.hardware.kernels import kernels_fit
from sifu.hardware.workers import Workers
from sifu.models.flat import FlatModel
from sifu.models.layer_calls import LayerCalls
from sifu.models.logistic import Logistic

Predictor = Callable[[Tensor, Tensor, Tensor], Tensor]  # weights [R, P], images [N, ...], rows [R, n] -> classes [R, n]
_POOL_BYTES = 2**21  # images of one forward pass on the CPU: their activations should stay in cache
_LINEAR_BYTES = 2**24  # the same for a linear model, which has next to no activations
_BATCH_BYTES = 2**28  # images of one forward pass of all seeds on a GPU


@dataclass(frozen=True)
class Evaluator:
    """Counts correct answers; `workers` on the CPU, None on a GPU."""

    model: FlatModel
    clients: Clients
    workers: Workers | None

    def correct(self, weights: Tensor, seeds: Tensor) -> Tensor:
        """Correct answers of each client's data under its seed's weights: [R, P], rows [R] -> [R, C] int64."""
        counts = torch.zeros(len(seeds), self.clients.num_clients, dtype=torch.int64, device=weights.device)
        if self.workers is None:
            self._count_batched(weights, seeds, counts)
        else:
            self._count_pooled(weights, seeds, counts)
        return counts

    def accuracy(self, weights: Tensor, seeds: Tensor, available: Tensor) -> Tensor:
        """Accuracy of weights [R, P] on the data of the clients `available` [R, C], and on the others': [R, 2] float64.

        NaN where there are none.
        """
        return self._recorded(weights, seeds, available)[0]

    @cached_property
    def _recorded(self) -> Recorded:
        return Recorded(self._accuracy, kept=32, pool="evaluations")  # seeds are evaluated in groups of any size

    def _accuracy(self, weights: Tensor, seeds: Tensor, available: Tensor) -> tuple[Tensor]:
        correct, size = self.correct(weights, seeds), self.clients.size[seeds]  # [R, C]
        return (torch.stack([share(correct, size, available), share(correct, size, ~available)], dim=1),)

    def _chunks(self, limit: int) -> list[slice]:
        """Ranges of clients whose images of one seed take at most `limit` bytes."""
        client_bytes = self.clients.images[0, 0].numel() * self.clients.images.element_size()
        step = max(1, limit // client_bytes)
        return [slice(c, c + step) for c in range(0, self.clients.num_clients, step)]

    def _count_pooled(self, weights: Tensor, seeds: Tensor, counts: Tensor) -> None:
        tasks = [(r, s, part) for r, s in enumerate(seeds.tolist()) for part in self._chunks(self._pool_bytes)]

        @torch.no_grad()
        def count(task: tuple[int, int, slice]) -> None:
            r, s, part = task
            counts[r, part] = self._correct(
                weights[r], self.clients.images[s, part], self.clients.labels[s, part], self.clients.size[s, part]
            )

        self.workers.map(count, tasks)  # type: ignore[union-attr]

    @property
    def _pool_bytes(self) -> int:
        return _LINEAR_BYTES if type(self.model.module) is Logistic else _POOL_BYTES

    def _count_batched(self, weights: Tensor, seeds: Tensor, counts: Tensor) -> None:
        data = self.clients
        for part in self._chunks(_BATCH_BYTES // max(1, len(seeds))):
            labels, size = data.labels[seeds, part], data.size[seeds, part]  # [R, C, n], [R, C]
            right = self._predict(weights, seeds, part) == labels
            counts[:, part] = (right & real_places(size, labels.shape[-1])).sum(-1)

    def _predict(self, weights: Tensor, seeds: Tensor, part: slice) -> Tensor:
        """The predicted class of each example of some clients. [R, C, n]"""
        images = self.clients.images
        if self._kernel is not None and weights.shape[1] == self.model.num_weights:
            rows = self._places(seeds, part)  # [R, C, n]
            return self._kernel(weights, images.flatten(0, 2), rows.flatten(1)).view_as(rows)
        images = images[seeds, part]  # [R, C, n, ...]
        logits = vmap(self._logits)(weights, images.flatten(1, 2))  # [R, C * n, classes]
        return logits.argmax(-1).unflatten(1, images.shape[1:3])

    def _logits(self, weights: Tensor, images: Tensor) -> Tensor:
        with LayerCalls(stacked=kernels_fit(self.clients.images)):
            return self.model.logits(weights, images)

    @cached_property
    def _kernel(self) -> Predictor | None:
        """Our own kernels, if there are any for this model."""
        if not kernels_fit(self.clients.images):
            return None
        if type(self.model.module) is Logistic:
            from sifu.hardware.kernels.logistic import predict

            return predict
        if self.model.kernels is not None:
            return resolve(self.model.kernels)(self.model, *self.clients.images.shape[3:5]).predict
        return None

    def _places(self, seeds: Tensor, part: slice) -> Tensor:
        """Row numbers of some clients' examples in the flattened data of all seeds. [R, C, n]"""
        num_clients, places = self.clients.images.shape[1:3]
        client = torch.arange(num_clients, device=seeds.device)[part] + seeds[:, None] * num_clients  # [R, C]
        return client[..., None] * places + torch.arange(places, device=seeds.device)

    def _correct(self, weights: Tensor, images: Tensor, labels: Tensor, size: Tensor) -> Tensor:
        """Correct answers [C] of weights [P] on images [C, n, ...] with labels [C, n] and sizes [C]."""
        examples = images.flatten(0, 1)  # [C * n, ...]
        if self.workers is not None:
            examples = examples.contiguous(memory_format=self.model.memory_format)
        predicted = self.model.logits(weights, examples).argmax(-1).view_as(labels)  # [C, n]
        return ((predicted == labels) & real_places(size, labels.shape[-1])).sum(-1)


def share(correct: Tensor, size: Tensor, which: Tensor) -> Tensor:
    """Accuracy over the clients of a mask, all [R, C]; NaN where the mask is empty. [R]"""
    return (correct * which).sum(1).double() / (size * which).sum(1)
