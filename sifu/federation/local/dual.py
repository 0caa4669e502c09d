"""Local training of logistic regression in the space of a client's examples.

A step of SGD moves the weights along the client's own images: after any number of steps W = c W_0 + A^T X, with X
[n, D] the images (and a 1 for the bias), A [n, classes] the coefficients, and c = 1 without weight decay. So K steps
need the logits X W_0^T at the start once, the Gram matrix G = X X^T (n^2 numbers, computed once for all rounds), and
per step only L = c L_0 + G A: n x n x classes operations instead of two passes over X. X is read twice per round, not
twice per step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from sifu.config.federation import Federation
from sifu.core.types import Clients
from sifu.federation.local.batches import Batches
from sifu.federation.local.sgd import clip_factor
from sifu.hardware.kernels import MAX_EXAMPLES, kernels_fit
from sifu.hardware.workers import Workers
from sifu.models.flat import FlatModel
from sifu.models.logistic import Logistic

_MAX_EXAMPLES = 512  # with more, the Gram matrix costs more than the images
_CHUNK = 10  # clients per task: enough to hide the overhead of an operation, few enough for several tasks


@dataclass(frozen=True)
class DualTrainer:
    model: FlatModel
    clients: Clients
    federation: Federation
    workers: Workers | None

    @staticmethod
    def fits(model: FlatModel, clients: Clients) -> bool:
        return type(model.module) is Logistic and clients.images.shape[2] <= _MAX_EXAMPLES

    @cached_property
    def _images(self) -> Tensor:
        images = self.clients.images.flatten(3)  # [S, C, n, D]
        real = self.clients.real()  # [S, C, n]
        return images if bool(real.all()) else torch.where(real[..., None], images, 0.0)

    @cached_property
    def _gram(self) -> Tensor:
        return torch.stack([x @ x.transpose(1, 2) + 1.0 for x in self._images])  # [S, C, n, n]; + 1: the bias

    @cached_property
    def _targets(self) -> Tensor:
        classes = self.model.shapes[1][0]
        return one_hot(self.clients.labels, classes).to(self._images.dtype)  # [S, C, n, classes]

    def __call__(self, start: Tensor, seeds: Tensor, cohort: Tensor, batches: Batches) -> Tensor:
        weight = batches.dense(self._images.shape[2], start.dtype)  # [R, m, K, n]
        if self.workers is None:
            fused = kernels_fit(self._images) and self._images.shape[2] <= MAX_EXAMPLES
            return (self._train_fused if fused else self._train_all)(start, seeds, cohort, weight)
        local = start.unsqueeze(1).repeat(1, cohort.shape[1], 1)  # [R, m, P]
        self._gram, self._targets  # noqa: B018  # computed once here, not by several threads at the same time
        tasks = [
            (r, s, part)
            for r, s in enumerate(seeds.tolist())
            for part in (cohort[r] >= 0).nonzero().flatten().split(_CHUNK)  # empty places may be in between
            if len(part)
        ]

        def train(task: tuple[int, int, Tensor]) -> None:
            r, s, part = task
            who = cohort[r, part]
            local[r, part] = self._train(start[r].expand(len(who), -1), torch.full_like(who, s), who, weight[r, part])

        self.workers.map(train, tasks)
        return local

    def _train_all(self, start: Tensor, seeds: Tensor, cohort: Tensor, weight: Tensor) -> Tensor:
        """All clients in one batch, for a GPU."""
        shape = cohort.shape
        rows = start.unsqueeze(1).expand(*shape, -1).flatten(0, 1)  # [R * m, P]
        seed = seeds[:, None].expand(shape).reshape(-1)
        local = self._train(rows, seed, cohort.clamp(min=0).reshape(-1), weight.flatten(0, 1))
        return torch.where((cohort >= 0).unsqueeze(-1), local.unflatten(0, shape), start.unsqueeze(1))

    def _train_fused(self, start: Tensor, seeds: Tensor, cohort: Tensor, weight: Tensor) -> Tensor:
        """As `_train_all`, in one kernel."""
        from sifu.hardware.kernels.logistic import Descent, train

        data, shape = self.clients, cohort.shape
        place = (seeds[:, None] * data.num_clients + cohort.clamp(min=0)).flatten()  # [R * m]
        row = torch.arange(shape[0], device=start.device).repeat_interleave(shape[1])
        federation = self.federation
        descent = Descent(federation.client_lr, federation.momentum, federation.weight_decay, federation.clip)
        images, gram, labels = self._images.flatten(0, 1), self._gram.flatten(0, 1), data.labels.flatten(0, 1)
        local = train(images, gram, labels, start.contiguous(), row, place, weight.flatten(0, 1), descent)
        return torch.where((cohort >= 0).unsqueeze(-1), local.unflatten(0, shape), start.unsqueeze(1))

    def _train(self, start: Tensor, seed: Tensor, client: Tensor, weight: Tensor) -> Tensor:
        """`start` [q, P], `seed` and `client` [q], `weight` [q, K, n] -> weights [q, P] after K steps."""
        images = self._images[seed, client]  # [q, n, D]
        matrix, bias = self._unflatten(start)  # [q, classes, D], [q, classes]
        logits = torch.baddbmm(bias.unsqueeze(1), images, matrix.transpose(1, 2))  # [q, n, classes]
        kept, coefficients = self._descend(logits, self._gram[seed, client], self._targets[seed, client], weight)
        change = coefficients.transpose(1, 2) @ images  # [q, classes, D]
        return start * kept + torch.cat([change.flatten(1), coefficients.sum(1)], dim=1)

    def _descend(self, start: Tensor, gram: Tensor, targets: Tensor, weight: Tensor) -> tuple[float, Tensor]:
        """c and A [q, n, classes] after the K steps of `weight` from the logits `start` [q, n, classes]."""
        federation, steps = self.federation, weight.shape[1]
        kept, kept_velocity = 1.0, 0.0
        logits, velocity, coefficients = start, torch.zeros_like(start), torch.zeros_like(start)
        for step in range(steps):
            slope = (logits.softmax(-1) - targets) * weight[:, step, :, None]  # d loss / d logits
            if federation.clip is not None:  # ||slope^T X||^2 = <slope, G slope>
                norm = (slope * (gram @ slope)).sum((1, 2), keepdim=True).clamp(min=0).sqrt()
                slope = slope * clip_factor(norm, federation.clip)
            velocity.mul_(federation.momentum).add_(slope)
            if federation.weight_decay:
                velocity.add_(coefficients, alpha=federation.weight_decay)
                kept_velocity = federation.momentum * kept_velocity + federation.weight_decay * kept
                kept -= federation.client_lr * kept_velocity
            coefficients.add_(velocity, alpha=-federation.client_lr)
            if step + 1 < steps:
                logits = torch.baddbmm(start, gram, coefficients, beta=kept)
        return kept, coefficients

    def _unflatten(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        matrix, bias = self.model.split(weights)
        return matrix.unflatten(-1, self.model.shapes[0]), bias
