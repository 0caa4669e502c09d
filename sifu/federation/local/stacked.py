"""Local training of networks with kernels of our own on a GPU: all seeds and sampled clients in one batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from sifu.catalog.lookup import resolve
from sifu.config.federation import Federation
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.federation.local.batches import Batches
from sifu.federation.local.sgd import clip_factor
from sifu.hardware.kernels import kernels_fit
from sifu.models.flat import FlatModel


class StackedNetwork(Protocol):
    """A network for G models at once. Its rows of weights may be in another order (P' numbers)."""

    def pack(self, rows: Tensor) -> Tensor: ...

    def unpack(self, packed: Tensor) -> Tensor: ...

    def forward(self, packed: Tensor, images: Tensor, rows: Tensor, *, masks: Keys | None = None) -> Any:
        """A pass over `rows` [G, B] of `images` [N, ...]: has `logits` [G, B, classes], is given to `backward`.

        `masks` [G]: the keys of dropout, passed only where the model has any, to a class that says `knows_dropout`.
        """
        ...

    def backward(self, packed: Tensor, done: Any, slope: Tensor, gradient: Tensor) -> None:
        """Write into `gradient` [G, P'] from `slope` [G, B, classes], d loss / d logits."""
        ...


def sgd_step_on_gpu(weights: Tensor, velocity: Tensor, gradient: Tensor, federation: Federation) -> None:
    """One step on weights and velocity [G, P], in place, by our own kernel."""
    from sifu.hardware.kernels.norm import row_norms
    from sifu.hardware.kernels.sgd import sgd_step

    factor = None if federation.clip is None else clip_factor(row_norms(gradient), federation.clip)
    rate, momentum, decay = federation.client_lr, federation.momentum, federation.weight_decay
    sgd_step(weights, velocity, gradient, factor, rate=rate, momentum=momentum, decay=decay)


@dataclass(frozen=True)
class StackedTrainer:
    model: FlatModel
    clients: Clients
    federation: Federation

    @staticmethod
    def fits(model: FlatModel, clients: Clients) -> bool:
        """Whether the model has kernels, they run here, and they know its dropout if it has any."""
        if model.kernels is None or not kernels_fit(clients.images):
            return False
        knows = getattr(resolve(model.kernels), "knows_dropout", False)
        return knows or not model.draws_masks(tuple(clients.images.shape[3:]))

    @cached_property
    def _net(self) -> StackedNetwork:
        assert self.model.kernels is not None
        return resolve(self.model.kernels)(self.model, *self.clients.images.shape[3:5])

    def __call__(self, start: Tensor, seeds: Tensor, cohort: Tensor, batches: Batches) -> Tensor:
        images, labels = self.clients.images.flatten(0, 2), self.clients.labels.flatten()  # [S * C * n, ...]
        client = seeds[:, None] * self.clients.num_clients + cohort.clamp(min=0)  # [R, m]
        index = client[..., None, None] * self.clients.images.shape[2] + batches.index  # [R, m, K, B]
        index, weight = index.flatten(0, 1), batches.weight(start.dtype).flatten(0, 1)  # [R * m, K, B]
        local = self._net.pack(start).repeat_interleave(cohort.shape[1], 0)  # [R * m, P']
        velocity, gradient = torch.zeros_like(local), torch.zeros_like(local)
        targets = one_hot(labels[index], self.model.shapes[-1][0])  # [R * m, K, B, classes]
        for step in range(index.shape[1]):
            keys = batches.mask_keys(step)  # [R, m]
            masks = {} if keys is None else {"masks": Keys(keys.state.flatten())}  # [R * m]
            done = self._net.forward(local, images, index[:, step].contiguous(), **masks)
            slope = (done.logits.softmax(-1) - targets[:, step]) * weight[:, step, :, None]
            self._net.backward(local, done, slope, gradient)
            sgd_step_on_gpu(local, velocity, gradient, self.federation)
        trained = self._net.unpack(local).unflatten(0, cohort.shape)
        return torch.where((cohort >= 0).unsqueeze(-1), trained, start.unsqueeze(1))  # [R, m, P]
