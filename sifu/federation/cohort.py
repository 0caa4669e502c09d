"""The sampling of cohorts: which clients take part in a round."""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.config.federation import Federation, Shards
from sifu.core.keys import Keys

_LAST = torch.iinfo(torch.int64).max


def sample_cohort(keys: Keys, rounds: Tensor, available: Tensor, count: int) -> Tensor:
    """The `count` available clients with the smallest keyed priority: `rounds` [R], `available` [R, C] -> [R, count].

    A client's priority depends on its number alone, so the others' do not change when it is forgotten. Client numbers
    ascend; -1 fills the last places where fewer than `count` are available.
    """
    return first_in_line(priorities(keys, rounds, available.shape[1]), available, count)


def priorities(keys: Keys, rounds: Tensor, num_clients: int) -> Tensor:
    """The keyed priority of every client in round `rounds` [R]: the smallest is first in line. [R, C]"""
    numbers = torch.arange(num_clients, device=rounds.device)
    return keys.fold("cohort", rounds).each(numbers).state


def first_in_line(priority: Tensor, available: Tensor, count: int) -> Tensor:
    """The `count` clients of smallest `priority` [R, C] of those `available` [R, C]: see `sample_cohort`. [R, count]"""
    num_clients = available.shape[1]
    chosen = priority.masked_fill(~available, _LAST).topk(count, dim=1, largest=False).indices  # [R, m]
    chosen = torch.where(available.gather(1, chosen), chosen, num_clients).sort(dim=1).values
    return torch.where(chosen < num_clients, chosen, -1)


def cohort_places(federation: Federation, num_clients: int) -> int:
    """The maximum size of a cohort."""
    if federation.shards is not None:
        return federation.shards.count * shard_seats(federation)
    return federation.clients_per_round if federation.sampling == "fixed" else num_clients


def draw_cohort(keys: Keys, rounds: Tensor, available: Tensor, federation: Federation) -> Tensor:
    """The clients of a round, by the federation's way of sampling; m is the size of the largest cohort. [R, m]"""
    if federation.shards is not None:
        return _shard_cohorts(keys, rounds, available, federation, federation.shards)
    if federation.sampling == "fixed":
        return sample_cohort(keys, rounds, available, federation.clients_per_round)
    drawn = poisson_sample(keys, rounds, available, federation.clients_per_round)
    return sample_cohort(keys, rounds, drawn, max(1, int(drawn.sum(1).max())))


def shard_seats(federation: Federation) -> int:
    """Clients of each shard in a round: all m, dealt out to the shards."""
    return -(-federation.clients_per_round // federation.num_models)


def shard_of(clients: Tensor, shards: Shards) -> Tensor:
    """The shard of each client number."""
    return (clients * shards.count // shards.num_clients).clamp(max=shards.count - 1)


def shard_members(available: Tensor, shards: Shards) -> Tensor:
    """The clients of a mask [R, C], shard by shard. [R, k, C] bool"""
    own = shard_of(torch.arange(available.shape[1], device=available.device), shards)  # [C]
    return available[:, None] & (own == torch.arange(shards.count, device=own.device)[:, None])


def _shard_cohorts(keys: Keys, rounds: Tensor, available: Tensor, federation: Federation, shards: Shards) -> Tensor:
    """As many clients of each shard, one shard after another: who takes part in one depends on no other. [R, k m]"""
    priority, seats = priorities(keys, rounds, available.shape[1]), shard_seats(federation)
    members = shard_members(available, shards)
    return torch.cat([first_in_line(priority, members[:, s], seats) for s in range(shards.count)], dim=1)


def poisson_sample(keys: Keys, rounds: Tensor, available: Tensor, expected: int) -> Tensor:
    """Each available client independently, with probability `expected` / (number of available ones). [R, C] bool"""
    numbers = torch.arange(available.shape[1], device=available.device)
    draw = keys.fold("poisson", rounds).each(numbers).uniform(1).squeeze(-1)  # [R, C]
    return available & (draw < expected / available.sum(1, keepdim=True))


def cohort_sizes(cohort: Tensor, size: Tensor) -> Tensor:
    """Number of examples of each sampled client, 0 for an empty place: [R, m], `size` [R, C] -> [R, m]."""
    return size.gather(1, cohort.clamp(min=0)).where(cohort >= 0, 0)


def cohort_weights(sizes: Tensor, dtype: torch.dtype) -> Tensor:
    """FedAvg's weight of each sampled client: its share of the cohort's examples. [R, m]"""
    return sizes.to(dtype) / sizes.sum(1, keepdim=True).clamp(min=1)
