"""Which examples each SGD step of a client uses: keyed shuffles, read batch by batch."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sifu.config.federation import Federation
from sifu.core.keys import Keys
from sifu.core.types import Clients, real_places

_LAST = torch.iinfo(torch.int64).max


@dataclass(frozen=True)
class Batches:
    """The examples of every step, and how many of the B places are used (fewer for a client smaller than B)."""

    index: Tensor  # [R, m, K, B] int64; places past `count` repeat example 0
    count: Tensor  # [R, m] int64: min(B, size of the client)
    is_full: bool = False  # every batch is all of its client's examples, in their order
    mask_state: Tensor | None = None  # [R, m] the keys of the clients' dropout masks; None: no dropout
    probe_state: Tensor | None = None  # [R, m] the keys of the clients' random signs; None: the optimiser draws none

    def first(self, steps: int) -> Batches:
        """The same batches, only the first `steps` of them."""
        return replace(self, index=self.index[:, :, :steps])

    def mask_keys(self, step: int) -> Keys | None:
        """The keys of a step's dropout masks, one a client: state [R, m]."""
        return None if self.mask_state is None else Keys(self.mask_state).fold(step)

    def weight(self, dtype: torch.dtype) -> Tensor:
        """The weight of each place in the mean of its batch. [R, m, K, B]"""
        place = torch.arange(self.index.shape[-1], device=self.index.device)
        real = place < self.count[..., None]  # [R, m, B]
        weight = real.to(dtype) / self.count[..., None].clamp(min=1)
        return weight.unsqueeze(-2).expand(self.index.shape)

    def dense(self, num_examples: int, dtype: torch.dtype) -> Tensor:
        """The same weights, indexed by the client's examples. [R, m, K, n]"""
        if self.is_full:
            real = real_places(self.count, num_examples)  # [R, m, n]
            weight = real.to(dtype) / self.count[..., None].clamp(min=1)
            return weight.unsqueeze(2).expand(-1, -1, self.index.shape[2], -1)  # [R, m, K, n]
        zeros = torch.zeros(*self.index.shape[:-1], num_examples, dtype=dtype, device=self.index.device)
        return zeros.scatter_add_(-1, self.index, self.weight(dtype))  # [R, m, K, n]


@dataclass(frozen=True)
class Batcher:
    """Draws the batches of a round.

    `epochs`: a client shuffles its examples once an epoch and takes B after B of them; a batch may cross into the next
    epoch. `fresh`: it shuffles them for every step, and takes the first B. A client with at most B examples takes all
    of them, in their order, at every step.
    """

    federation: Federation
    longest: int  # examples of the largest client
    shuffles: int  # in a round, of the smallest client with more than B examples; 0: there is none
    draws_masks: bool = False  # the model has dropout
    draws_probes: bool = False  # the optimiser estimates a Hessian

    @staticmethod
    def of(
        clients: Clients, federation: Federation, *, draws_masks: bool = False, draws_probes: bool = False
    ) -> Batcher:
        larger = clients.size[clients.size > federation.batch_size]
        shuffles = 0
        if len(larger):
            drawn = federation.local_steps * federation.batch_size
            is_fresh = federation.batches == "fresh"
            shuffles = federation.local_steps if is_fresh else math.ceil(drawn / int(larger.min()))
        return Batcher(federation, clients.images.shape[2], shuffles, draws_masks, draws_probes)

    def draw(self, keys: Keys, rounds: Tensor, cohort: Tensor, size: Tensor) -> Batches:
        """The batches of one round: `keys` and `rounds` [R], `cohort` and its clients' `size` [R, m]."""
        steps, batch = self.federation.local_steps, self.federation.batch_size
        place = torch.arange(steps * batch, device=size.device)
        count, size = size.clamp(max=batch), size[..., None]  # [R, m], [R, m, 1]
        index = torch.where(place % batch < count[..., None], place % batch, 0)  # [R, m, K * B]
        if self.shuffles:
            walked = torch.where(size > batch, place, 0)
            length = torch.full_like(size, batch) if self.federation.batches == "fresh" else size.clamp(min=1)
            shuffle, offset = walked // length, walked % length
            orders = self._orders(keys.fold("batches", rounds, cohort), size)  # [R, m, E, n]
            index = torch.where(size > batch, orders.flatten(-2).gather(-1, shuffle * self.longest + offset), index)
        masks = keys.fold("dropout", rounds, cohort).state if self.draws_masks else None
        probes = keys.fold("probes", rounds, cohort).state if self.draws_probes else None
        return Batches(index.unflatten(-1, (steps, batch)), count, not self.shuffles, masks, probes)

    def _orders(self, keys: Keys, size: Tensor) -> Tensor:
        """The shuffles of each client's examples, padding last."""
        example = torch.arange(self.longest, device=size.device)
        priority = keys.each(torch.arange(self.shuffles, device=size.device)).bits(self.longest)  # [R, m, E, n]
        return priority.masked_fill(example >= size[..., None], _LAST).argsort(dim=-1, stable=True)
