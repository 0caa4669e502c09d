"""Local training of any module with all seeds and sampled clients in one batch, through torch.func."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.func import grad, vmap
from torch.nn.functional import cross_entropy

from sifu.config.federation import Federation
from sifu.core.types import Clients
from sifu.federation.local.batches import Batches
from sifu.federation.local.sgd import sgd_step
from sifu.federation.local.stacked import sgd_step_on_gpu
from sifu.hardware.determinism import deterministic
from sifu.hardware.kernels import kernels_fit
from sifu.models.flat import FlatModel
from sifu.models.layer_calls import LayerCalls


@dataclass(frozen=True)
class VmappedTrainer:
    model: FlatModel
    clients: Clients
    federation: Federation

    @cached_property
    def _on_gpu(self) -> bool:
        return kernels_fit(self.clients.images)

    def __call__(self, start: Tensor, seeds: Tensor, cohort: Tensor, batches: Batches) -> Tensor:
        shape = cohort.shape  # [R, m]
        seed = seeds[:, None].expand(shape).reshape(-1, 1)  # [R * m, 1]
        client = cohort.clamp(min=0).reshape(-1, 1)
        index, weight = batches.index.flatten(0, 1), batches.weight(start.dtype).flatten(0, 1)  # [R * m, K, B]
        local = start.unsqueeze(1).repeat(1, shape[1], 1).flatten(0, 1)  # [R * m, P]
        velocity = torch.zeros_like(local)
        with deterministic():
            for step in range(index.shape[1]):
                rows = seed, client, index[:, step]
                data = self.clients.images[rows], self.clients.labels[rows], weight[:, step]
                self._step(local, velocity, self._gradient(local, *data, _flat(batches, step)))
        present = (cohort >= 0).unsqueeze(-1)
        return torch.where(present, local.unflatten(0, shape), start.unsqueeze(1))  # [R, m, P]

    def _gradient(self, local: Tensor, images: Tensor, labels: Tensor, weight: Tensor, keys: Tensor | None) -> Tensor:
        """The gradients of all models [G, P] on their batches [G, B, ...]; `keys` [G] of their dropout masks."""
        return vmap(grad(self._loss), in_dims=(0, 0, 0, 0, None if keys is None else 0))(
            local, images, labels, weight, keys
        )

    def _loss(self, weights: Tensor, images: Tensor, labels: Tensor, weight: Tensor, key: Tensor | None) -> Tensor:
        """The mean loss of one client's batch; `weight` [B] leaves out the padding."""
        with LayerCalls(key, stacked=self._on_gpu):
            logits = self.model.logits(weights, images, training=True)
        losses = cross_entropy(logits, labels, reduction="none")  # [B]
        return (losses * weight).sum()

    def _step(self, local: Tensor, velocity: Tensor, gradient: Tensor) -> None:
        step = sgd_step_on_gpu if self._on_gpu else sgd_step
        step(local, velocity, gradient, self.federation)


def _flat(batches: Batches, step: int) -> Tensor | None:
    """The keys of a step's dropout masks. [R * m]"""
    keys = batches.mask_keys(step)
    return None if keys is None else keys.state.flatten()
