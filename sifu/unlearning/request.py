"""Requests: which clients ask to be forgotten, and which remain."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sifu.config.partition import OneClass
from sifu.config.requests import RandomRequests
from sifu.config.scenario import Scenario, request_lists
from sifu.core.keys import Keys
from sifu.errors import SifuError


@dataclass(frozen=True)
class Request:
    """One request of every seed."""

    number: int  # from 1
    forget: Tensor  # [S, C] bool: the clients to forget
    remain: Tensor  # [S, C] bool: the clients that remain afterwards

    @property
    def size(self) -> Tensor:
        """How many clients are to be forgotten. [S]"""
        return self.forget.sum(1)

    def copy(self) -> Request:
        """The same request in memory of its own: what a method does to it changes nothing else."""
        return Request(self.number, self.forget.clone(), self.remain.clone())

    @staticmethod
    def of(number: int, forget: Tensor, available: Tensor) -> Request:
        """Request `number` to forget the clients `forget` [S, C] of those `available` [S, C]."""
        if not bool(forget.any(1).all()):
            raise SifuError(f"request {number} is empty: at least one client must be forgotten")
        again = torch.nonzero((forget & ~available).any(0)).flatten().tolist()
        if again:
            raise SifuError(f"request {number} names clients that were forgotten before: {again}")
        remain = available & ~forget
        if not bool(remain.any(1).all()):
            raise SifuError(f"request {number} leaves no client: at least one must remain")
        return Request(number, forget, remain)


def client_mask(clients: tuple[int, ...] | list[int], num_clients: int) -> Tensor:
    """Client numbers as a mask. [C] bool"""
    mask = torch.zeros(num_clients, dtype=torch.bool)
    for client in clients:
        if not 0 <= client < num_clients:
            raise SifuError(f"client {client} does not exist; allowed: 0 to {num_clients - 1}")
        if mask[client]:
            raise SifuError(f"client {client} is named twice in one request")
        mask[client] = True
    return mask


def draw_sets(scenario: Scenario, keys: Keys, count: int) -> list[Tensor]:
    """`count` sets of clients that might be forgotten: each class in turn where clients hold one class, else random
    sets of the first request's size. [S, C] bool each
    """
    num_clients, num_seeds = scenario.partition.num_clients, len(keys.state)
    if isinstance(scenario.partition, OneClass):
        classes = range(min(count, scenario.num_classes))
        numbers = torch.arange(num_clients) % scenario.num_classes
        return [(numbers == label).expand(num_seeds, -1) for label in classes]
    size = int(draw_requests(scenario, keys)[0].sum(1).max())
    masks = []
    for number in range(count):
        chosen = keys.fold("request set", number).permutation(num_clients).cpu()[:, :size]
        masks.append(torch.zeros(num_seeds, num_clients, dtype=torch.bool).scatter_(1, chosen, True))
    return masks


def draw_requests(scenario: Scenario, keys: Keys) -> list[Tensor]:
    """The clients to forget at each request of a scenario, for every seed. [S, C] bool each"""
    num_clients, num_seeds = scenario.partition.num_clients, len(keys.state)
    lists = request_lists(scenario)
    if lists is not None:
        return [client_mask(clients, num_clients).expand(num_seeds, -1) for clients in lists]
    requests = scenario.requests
    assert isinstance(requests, RandomRequests)
    drawn_by = keys if requests.seed is None else Keys.of([requests.seed] * num_seeds)
    order = drawn_by.fold("requests").permutation(num_clients).cpu()  # [S, C]
    masks = []
    for number in range(requests.num_requests):
        chosen = order[:, number * requests.size : (number + 1) * requests.size]
        masks.append(torch.zeros(num_seeds, num_clients, dtype=torch.bool).scatter_(1, chosen, True))
    return masks
