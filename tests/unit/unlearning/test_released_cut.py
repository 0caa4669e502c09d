"""The walk of SIFU's released code over its cut nodes: by hand, and against the transcript on many made-up Psi."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from sifu.unlearning.released_cut import ReleasedCut, released_cut
from tests.released import Server

LIMIT = 1.0


def cut_of(psi: list[Tensor], requests: list[list[int]]) -> ReleasedCut:
    """The cut of the last request; psi [T + 1, C] of each branch, one seed."""
    masks = [torch.zeros(1, psi[0].shape[1], dtype=torch.bool) for _ in requests]
    for mask, clients in zip(masks, requests, strict=True):
        mask[0, clients] = True

    def psi_of(forgotten: Tensor) -> list[Tensor]:
        return [part[None].masked_fill(~forgotten.unsqueeze(1), -1.0) for part in psi]

    return released_cut(psi_of, [torch.tensor([len(part) - 1]) for part in psi], masks, LIMIT)


def nodes(cut: ReleasedCut) -> list[tuple[int, int]]:
    return [(int(node.branch), int(node.round)) for node in cut]


def column(*values: float) -> list[float]:
    return list(values)


def branch(*clients: list[float]) -> Tensor:
    """Psi of one branch from the columns of its clients. [T + 1, C]"""
    return torch.tensor(clients, dtype=torch.float64).T


def test_the_first_cut_that_fails_is_cut_again() -> None:
    """Clients 0, 1, 2 ask one after another. The training is cut at 2, branch 1 at 1; both are too late for client 2,
    which crosses in round 2 of the training and in round 1 of branch 1. The training comes first.
    """
    training = branch(column(0, 0.5, 0.9, 1.5), column(0, 0.2, 0.3, 0.4), column(0, 0.1, 1.2, 1.3))
    first = branch(column(0, 0, 0, 0), column(0, 0.5, 1.1, 1.2), column(0, 1.4, 1.5, 1.6))
    second = branch(column(0, 0), column(0, 0), column(0, 0.1))
    assert nodes(cut_of([training], [[0]])) == [(0, 2), (0, 2)]
    assert nodes(cut_of([training, first], [[0], [1]])) == [(1, 1), (1, 1)]
    assert nodes(cut_of([training, first, second], [[0], [1], [2]])) == [(0, 1), (0, 1)]


def test_a_branch_that_was_dropped_is_not_checked() -> None:
    """Request 2 goes back to the training, so that branch 1 no longer counts, however large client 2's Psi is there."""
    training = branch(column(0, 0.5, 0.9, 1.5), column(0, 0.5, 1.2, 1.3), column(0, 0.1, 0.2, 0.3))
    first = branch(column(0, 0), column(0, 0.1), column(0, 9))
    second = branch(column(0, 0, 0), column(0, 0, 0), column(0, 0.2, 0.3))
    assert nodes(cut_of([training, first], [[0], [1]])) == [(0, 1), (0, 1)]
    assert nodes(cut_of([training, first, second], [[0], [1], [2]])) == [(2, 2), (2, 2)]


def test_the_checkpoint_is_that_of_the_largest_psi_at_the_cut() -> None:
    """Client 1 crosses first, in round 3, but client 0 has the larger Psi in round 2: its own last model is that of
    round 4, where client 1 is far above the limit.
    """
    training = branch(column(0, 0.8, 0.8, 0.8, 0.9, 1.5), column(0, 0.1, 0.2, 3, 4, 5))
    assert nodes(cut_of([training], [[0, 1]])) == [(0, 2), (0, 4)]


def made_up(generator: torch.Generator, branches: int) -> list[Tensor]:
    """Psi that grows by chance, on branches of different lengths; somebody has moved in each. [T + 1, C] each"""
    psi = []
    for _ in range(branches):
        rounds = int(torch.randint(2, 9, (), generator=generator))
        steps = torch.rand(rounds, 8, generator=generator).double() * (torch.rand(rounds, 8, generator=generator) < 0.5)
        steps[-1] += 0.01
        psi.append(torch.cat([steps.new_zeros(1, 8), (0.5 * steps).cumsum(0)]))
    return psi


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.second) for seed in (2, 3, 4))])
def test_the_walk_is_that_of_the_transcript(seed: int) -> None:
    """100 times four requests of two clients."""
    generator = torch.Generator().manual_seed(seed)
    requests = [[0, 1], [2, 3], [4, 5], [6, 7]]
    went_back = 0
    for _ in range(100):
        psi = made_up(generator, len(requests))
        plain: Any = None  # the walk reads Psi alone
        server = Server(plain, LIMIT)
        for number, clients in enumerate(requests, start=1):
            server.psi.append(psi[number - 1].tolist())
            expected = server.cut(clients)
            place, last = expected
            client = max(clients, key=server.psi[place][last].__getitem__)
            own = [n for n, row in enumerate(server.psi[place]) if row[client] <= LIMIT][-1]
            assert nodes(cut_of(psi[:number], requests[:number])) == [expected, (place, own)]
            went_back += place < number - 1
    assert went_back > 50
