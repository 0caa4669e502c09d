"""Where SIFU's released code goes back to. Psi starts at zero on every branch, so that each has a budget of its own.

The code remembers where each branch was cut. A request checks these cuts from the training on: the first one at which
a client to forget has Psi > Psi* is cut again, and all branches after it are dropped. Where none fails, the newest
branch is cut. A cut is the round before the first client crosses Psi*.

The model that is restored is not that of the cut. It is the checkpoint of the client with the largest Psi at the cut:
its own last model with Psi <= Psi*. If another client crosses first, that model is later than the cut, and may be one
that an earlier request had dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.unlearning.node import Node


class ReleasedCut(NamedTuple):
    """What a request does to the walk."""

    cut: Node  # where the code says that it cuts
    restored: Node  # the model that it restores: on the same branch, not before the cut


def released_cut(
    psi_of: Callable[[Tensor], list[Tensor]], rounds: list[Tensor], requests: list[Tensor], limit: float
) -> ReleasedCut:
    """The cut of the last of the `requests` [S, C], after those before it.

    `psi_of(clients)`: for each branch their Psi at its nodes [S, T + 1, C]; `rounds` [S] of each branch; limit = Psi*.
    """
    cuts: list[Tensor] = []  # [S] for each branch: the round that it is cut at, -1 where it was dropped
    for number, clients in enumerate(requests, start=1):
        psi = psi_of(clients)[:number]  # of the branches there were at this request
        branch = _branch(cuts, psi, limit)
        ends = [_before_crossing(part.amax(2), last, limit) for part, last in zip(psi, rounds, strict=False)]
        cuts.append(torch.full_like(branch, -1))
        cuts = [
            torch.where(branch == u, end, cut.where(branch > u, -1))
            for u, (cut, end) in enumerate(zip(cuts, ends, strict=True))
        ]
    cut = Node(branch, _chosen(cuts, branch))
    own = [_checkpoint(part, last, cut.round, limit) for part, last in zip(psi, rounds, strict=True)]
    return ReleasedCut(cut, Node(branch, _chosen(own, branch)))


def _branch(cuts: list[Tensor], psi: list[Tensor], limit: float) -> Tensor:
    """The first branch with a client above the limit where it was cut before; else the newest one. [S]"""
    branch = torch.full((len(psi[0]),), len(cuts))
    for u in reversed(range(len(cuts))):
        at_cut = psi[u].amax(2).gather(1, cuts[u].clamp(min=0)[:, None]).squeeze(1)  # [S]
        branch = torch.where((cuts[u] >= 0) & (at_cut > limit), u, branch)
    return branch


def _before_crossing(psi: Tensor, rounds: Tensor, limit: float) -> Tensor:
    """The node before the first one of a branch with psi [S, T + 1] above the limit; else the branch's last. [S]"""
    number = torch.arange(psi.shape[1])
    first = torch.where(psi > limit, number, psi.shape[1]).amin(1)
    return torch.where(first <= rounds, first - 1, rounds)


def _checkpoint(psi: Tensor, rounds: Tensor, cut: Tensor, limit: float) -> Tensor:
    """The last node at which the client with the largest psi [S, T + 1, C] at the `cut` [S] is below the limit. [S]"""
    seeds, number = torch.arange(len(psi)), torch.arange(psi.shape[1])
    client = psi[seeds, cut.clamp(max=psi.shape[1] - 1)].argmax(1)  # [S], the first of several
    fits = (psi[seeds, :, client] <= limit) & (number <= rounds[:, None])  # [S, T + 1]
    return torch.where(fits, number, 0).amax(1)


def _chosen(values: list[Tensor], branch: Tensor) -> Tensor:
    """The value of each seed's own branch. [S]"""
    return torch.stack(values, dim=1).gather(1, branch[:, None]).squeeze(1)
