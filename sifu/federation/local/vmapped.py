"""Local training with all seeds and sampled clients in one batch, through torch.func."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import grad, vmap
from torch.nn.functional import cross_entropy

from sifu.config.federation import Federation
from sifu.core.types import Clients
from sifu.federation.local.batches import Batches
from sifu.federation.local.sgd import sgd_step
from sifu.models.flat import FlatModel


@dataclass(frozen=True)
class VmappedTrainer:
    model: FlatModel
    clients: Clients
    federation: Federation

    def __call__(self, start: Tensor, seeds: Tensor, cohort: Tensor, batches: Batches) -> Tensor:
        shape = cohort.shape  # [R, m]
        seed = seeds[:, None].expand(shape).reshape(-1, 1)  # [R * m, 1]
        client = cohort.clamp(min=0).reshape(-1, 1)
        index, weight = batches.index.flatten(0, 1), batches.weight(start.dtype).flatten(0, 1)  # [R * m, K, B]
        local = start.unsqueeze(1).repeat(1, shape[1], 1).flatten(0, 1)  # [R * m, P]
        velocity = torch.zeros_like(local)
        gradients = vmap(grad(self._loss))
        for step in range(index.shape[1]):
            rows = seed, client, index[:, step]
            gradient = gradients(local, self.clients.images[rows], self.clients.labels[rows], weight[:, step])
            sgd_step(local, velocity, gradient, self.federation)
        present = (cohort >= 0).unsqueeze(-1)
        return torch.where(present, local.unflatten(0, shape), start.unsqueeze(1))  # [R, m, P]

    def _loss(self, weights: Tensor, images: Tensor, labels: Tensor, weight: Tensor) -> Tensor:
        """The mean loss of one client's batch; `weight` [B] leaves out the padding."""
        losses = cross_entropy(self.model.logits(weights, images), labels, reduction="none")  # [B]
        return (losses * weight).sum()
