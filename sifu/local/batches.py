"""Which examples a client's SGD step sees: keyed shuffles, walked through batch by batch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sifu.keys import Keys
from sifu.scenario import Federation

_LAST = torch.iinfo(torch.int64).max


@dataclass(frozen=True)
class Batches:
    """The examples of every step, and how many of the B places are real (a client smaller than B has fewer)."""

    index: Tensor  # [R, m, K, B] int64; places past `count` repeat example 0
    count: Tensor  # [R, m] int64: min(B, size of the client)

    def weight(self) -> Tensor:
        """What each place counts in the mean of its batch."""
        place = torch.arange(self.index.shape[-1], device=self.index.device)
        real = place < self.count[..., None]  # [R, m, B]
        return (real / self.count[..., None].clamp(min=1)).unsqueeze(-2).expand(self.index.shape)  # [R, m, K, B]

    def dense(self, num_examples: int) -> Tensor:
        """The same weights laid out over the client's examples."""
        zeros = torch.zeros(*self.index.shape[:-1], num_examples, device=self.index.device)
        return zeros.scatter_add_(-1, self.index, self.weight())  # [R, m, K, n]


def draw_batches(
    keys: Keys, rounds: Tensor, cohort: Tensor, size: Tensor, longest: int, federation: Federation
) -> Batches:
    """The batches of a round: `keys` and `rounds` [R], `cohort` and its clients' `size` [R, m].

    A client shuffles its examples once an epoch and takes B after B of them; a batch may cross into the next epoch. A
    client with at most B examples takes all of them, in their order, at every step.
    """
    steps, batch = federation.local_steps, federation.batch_size
    count = size.clamp(max=batch)  # [R, m]
    place = torch.arange(steps * batch, device=size.device)
    if longest <= batch:
        index = torch.where(place % batch < count[..., None], place % batch, 0)  # [R, m, K * B]
        return Batches(index.unflatten(-1, (steps, batch)), count)
    walked = torch.where(count[..., None] < batch, place % batch, place)  # [R, m, K * B]
    real = walked % batch < count[..., None]
    divisor = size[..., None].clamp(min=1)
    epoch, offset = walked // divisor, walked % divisor
    orders = _orders(keys.fold("batches").fold(rounds), cohort, size, longest, int(epoch.max()) + 1)  # [R, m, E, n]
    drawn = orders.flatten(-2).gather(-1, epoch * longest + offset)
    return Batches(torch.where(real, drawn, 0).unflatten(-1, (steps, batch)), count)


def _orders(keys: Keys, cohort: Tensor, size: Tensor, longest: int, epochs: int) -> Tensor:
    """A shuffle of each client's examples for each epoch; a full-batch client keeps its order."""
    example = torch.arange(longest, device=size.device)
    stream = Keys(keys.fold(cohort).state.unsqueeze(-1)).fold(torch.arange(epochs, device=size.device))  # [R, m, E]
    priority = stream.bits(longest)  # [R, m, E, n]
    priority = priority.masked_fill(example >= size[..., None, None], _LAST)  # padding goes last
    return priority.argsort(dim=-1, stable=True)
