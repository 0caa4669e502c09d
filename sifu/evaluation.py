"""How many of its own examples each client's data gets right: every accuracy is a sum of these counts."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import vmap

from sifu.models.flat import FlatModel
from sifu.types import Clients, real_places
from sifu.workers import Workers

_POOL_BYTES = 2**21  # images of one forward pass on the CPU: they should stay in cache
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

    def _chunks(self, limit: int) -> list[slice]:
        """Ranges of clients whose images of one seed take at most `limit` bytes."""
        client_bytes = self.clients.images[0, 0].numel() * self.clients.images.element_size()
        step = max(1, limit // client_bytes)
        return [slice(c, c + step) for c in range(0, self.clients.num_clients, step)]

    def _count_pooled(self, weights: Tensor, seeds: Tensor, counts: Tensor) -> None:
        tasks = [(r, s, part) for r, s in enumerate(seeds.tolist()) for part in self._chunks(_POOL_BYTES)]

        @torch.no_grad()
        def count(task: tuple[int, int, slice]) -> None:
            r, s, part = task
            counts[r, part] = self._right(
                weights[r], self.clients.images[s, part], self.clients.labels[s, part], self.clients.size[s, part]
            )

        self.workers.map(count, tasks)  # type: ignore[union-attr]

    def _count_batched(self, weights: Tensor, seeds: Tensor, counts: Tensor) -> None:
        right = vmap(self._right)
        for part in self._chunks(_BATCH_BYTES // max(1, len(seeds))):
            data = self.clients
            counts[:, part] = right(weights, data.images[seeds, part], data.labels[seeds, part], data.size[seeds, part])

    def _right(self, weights: Tensor, images: Tensor, labels: Tensor, size: Tensor) -> Tensor:
        """[P], [C, n, ...], [C, n], [C] -> correct answers [C]."""
        examples = images.flatten(0, 1)  # [C * n, ...]
        if self.workers is not None:
            examples = examples.contiguous(memory_format=self.model.memory_format)
        predicted = self.model.logits(weights, examples).argmax(-1).view_as(labels)  # [C, n]
        return ((predicted == labels) & real_places(size, labels.shape[-1])).sum(-1)


def share(correct: Tensor, size: Tensor, which: Tensor) -> Tensor:
    """Accuracy over the clients of a mask, all [R, C]; NaN where the mask is empty. [R]"""
    return (correct * which).sum(1).double() / (size * which).sum(1)
