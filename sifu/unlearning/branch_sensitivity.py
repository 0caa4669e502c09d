"""Psi at every node of the lineage, branch after branch: each starts with the value of the node that it grew from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from sifu.certificate.empty_seats import increments_of
from sifu.certificate.refilled import cohorts_without, refilled_increments, single_sets
from sifu.certificate.rules import Rules
from sifu.certificate.sensitivity import accumulate
from sifu.unlearning.branch import Branch


def client_sensitivity(branches: Sequence[Branch], clients: Tensor, rules: Rules, factor: float) -> list[Tensor]:
    """Psi of each of `clients` [S, C] alone, 0 for other clients; of all together where the rules count so.

    [S, T + 1, C] or [S, T + 1, 1] for each branch.
    """
    if rules.seats == "refilled":
        return _refilled_by_client(branches, clients, rules, factor)
    increments = [increments_of(branch.engine, branch.segment, clients, rules) for branch in branches]
    nodes = accumulate_branches(branches, increments, factor, reset=rules.branches == "reset")
    return [psi if psi.dim() == 3 else psi.unsqueeze(2) for psi in nodes]


def refilled_sensitivity(
    branches: Sequence[Branch], sets: Sequence[Tensor], factor: float, spares: int | None = None
) -> list[Tensor]:
    """Psi of each of the `sets` [S, C] with refilled seats, at every node of every branch. [S, T + 1, sets] each

    `spares`: see sifu/certificate/refilled.py.
    """
    increments = [_refilled_increments(branch, sets, spares) for branch in branches]
    return accumulate_branches(branches, increments, round_factors(branches, sets, factor), reset=False)


def accumulate_branches(
    branches: Sequence[Branch], increments: list[Tensor], factor: float | list[Tensor], *, reset: bool
) -> list[Tensor]:
    """Sums along the lineage: a branch starts with the value of the node that it grew from. `factor`: one for all
    rounds, or for each branch one a round.
    """
    nodes: list[Tensor] = []
    start = None
    factors: Sequence[float | Tensor] = factor if isinstance(factor, list) else [factor] * len(increments)
    for part, branch, by_round in zip(increments, branches, factors, strict=True):
        values = accumulate(part, by_round, None if reset else start)  # [S, T + 1, ...]
        nodes.append(values)
        kept = branch.kept
        last = values[torch.arange(len(kept)), kept.clamp(min=0)]
        before = torch.zeros_like(last) if start is None else start
        start = torch.where(kept.reshape(-1, *[1] * (last.dim() - 1)) >= 0, last, before)
    return nodes


def round_factors(branches: Sequence[Branch], sets: Sequence[Tensor], factor: float) -> float | list[Tensor]:
    """B^K of every round with refilled seats; below 1 also where a round cannot contract. [S, T, sets] each

    A round brings two models together by local training. Nobody trains where the cohort is empty, or would be
    without a set: then the factor is 1.
    """
    if factor >= 1:
        return factor
    factors = []
    for branch in branches:
        segment, federation = branch.segment, branch.engine.federation
        cohorts = [cohorts_without(segment, clients, federation) for clients in sets]
        idle = torch.stack([(cohort < 0).all(2) for cohort in cohorts], dim=2)  # [S, T, sets]
        idle |= (segment.trace.cohort < 0).all(2, keepdim=True)
        factors.append(torch.full(idle.shape, factor, dtype=torch.float64).masked_fill(idle, 1.0))
    return factors


def _refilled_by_client(branches: Sequence[Branch], clients: Tensor, rules: Rules, factor: float) -> list[Tensor]:
    """Psi with refilled seats, as far as the federation's spare clients tell. [S, T + 1, C] or [S, T + 1, 1]"""
    spares = branches[0].engine.federation.spare_seats
    if rules.sets != "max":
        return refilled_sensitivity(branches, [clients], factor, spares)
    # a member of each seed's set in each column
    found = refilled_sensitivity(branches, single_sets(clients), factor, spares)
    places = torch.argsort((~clients).long(), dim=1, stable=True)[:, : found[0].shape[2]]  # [S, sets]
    spread = [part.new_zeros(*part.shape[:2], clients.shape[1]) for part in found]
    index = [places.unsqueeze(1).expand_as(part) for part in found]
    return [whole.scatter_add_(2, at, part) for whole, at, part in zip(spread, index, found, strict=True)]


def _refilled_increments(branch: Branch, sets: Sequence[Tensor], spares: int | None) -> Tensor:
    """What a branch adds to Psi of each set with refilled seats, as far as it is kept. [S, T, sets]

    The training's part is made once: every stop rule begins with it.
    """
    until, is_training = branch.kept.clamp(min=0), branch.number == 0
    known = branch.cache.increments(sets, until) if is_training and spares is None else None
    if known is not None:
        return known
    which = ("refilled", *(part.numpy().tobytes() for part in (until, *sets)), spares)
    make = partial(refilled_increments, branch.engine, branch.segment, sets, until, spares)
    return branch.cache.total(branch.segment, which, make) if is_training else make()
