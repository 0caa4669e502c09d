"""Psi: how far the forgotten clients can have moved the model, from the recorded scalars.

In a round, leaving out the clients W changes the average by at most
    Delta_W = || sum over i in W of v_i (theta_i - theta) || / (1 - v_W)
with v the clients' weights and theta the new global model. For a single client that is the paper's
v / (1 - v) ||theta - theta_c||, for a set at most the sum of the norms.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.federation.segment import Segment


def client_weights(segment: Segment, size: Tensor, weight: str) -> Tensor:
    """v: the weight of each sampled client, as a share of all available clients or of its cohort. [S, T, m] float64"""
    cohort = segment.trace.cohort
    counted = size.double().where(segment.available, 0.0)  # [S, C]
    held = counted.unsqueeze(1).expand(-1, cohort.shape[1], -1).gather(2, cohort.clamp(min=0))
    held = held.where(cohort >= 0, 0.0)
    total = counted.sum(1)[:, None, None] if weight == "share" else held.sum(2, keepdim=True)
    return held / total.clamp(min=1)


def client_increments(segment: Segment, size: Tensor, weight: str) -> Tensor:
    """Delta_c of each sampled client alone. [S, T, m]

    If a client is alone in its cohort, the round would not have happened without it, and the difference is the whole
    step.
    """
    v = client_weights(segment, size, weight)
    odds = v / (1 - v).clamp(min=1e-300) * segment.trace.distance
    return torch.where(v < 1, odds, segment.trace.step_norm.double().unsqueeze(2).expand_as(v))


def set_increments(segment: Segment, size: Tensor, forgotten: Tensor, weight: str) -> Tensor:
    """A bound on Delta_W of the clients `forgotten` [S, C] together. [S, T]"""
    v = client_weights(segment, size, weight)
    is_forgotten = sampled(forgotten, segment.trace.cohort)  # [S, T, m]
    moved = (v * segment.trace.distance).where(is_forgotten, 0.0).sum(2)  # [S, T]
    rest = 1 - forgotten_weight(segment, size, forgotten, weight)
    no_rest = rest < 1e-12  # the whole cohort is forgotten
    return torch.where(no_rest, segment.trace.step_norm.double(), moved / rest.clamp(min=1e-12))


def forgotten_weight(segment: Segment, size: Tensor, forgotten: Tensor, weight: str) -> Tensor:
    """v_W: the weight of the `forgotten` clients [S, C] together, in all available clients or the cohort. [S, T]"""
    if weight == "share":
        counted = size.double().where(segment.available, 0.0)
        share = (counted * forgotten).sum(1) / counted.sum(1).clamp(min=1)
        return share[:, None].expand(-1, segment.trace.cohort.shape[1])
    v = client_weights(segment, size, weight)
    return v.where(sampled(forgotten, segment.trace.cohort), 0.0).sum(2)


def sampled(clients: Tensor, cohort: Tensor) -> Tensor:
    """Which places of the cohorts [S, T, m] are taken by `clients` [S, C]. [S, T, m] bool"""
    spread = clients.unsqueeze(1).expand(-1, cohort.shape[1], -1)
    return spread.gather(2, cohort.clamp(min=0)) & (cohort >= 0)


def spread_clients(increments: Tensor, cohort: Tensor, num_clients: int) -> Tensor:
    """Increments of sampled clients [S, T, m], indexed by client. [S, T, C] float64"""
    spread = torch.zeros(*cohort.shape[:2], num_clients, dtype=torch.float64)
    return spread.scatter_add_(2, cohort.clamp(min=0), increments.double().where(cohort >= 0, 0.0))


def accumulate(increments: Tensor, factor: float | Tensor, start: Tensor | None = None) -> Tensor:
    """Psi(n) = factor Psi(n - 1) + increment(n) for n = 0..T. [S, T, ...] -> [S, T + 1, ...]

    factor = B^K: one number, or one for each increment, in the shape of these.
    """
    first = increments.new_zeros(increments.shape[:1] + increments.shape[2:]) if start is None else start  # [S, ...]
    if increments.shape[1] == 0:
        return first.unsqueeze(1)
    if not isinstance(factor, Tensor) and factor == 1.0:
        return torch.cat([first.unsqueeze(1), first.unsqueeze(1) + increments.cumsum(1)], dim=1)
    factors = torch.as_tensor(factor, dtype=increments.dtype).expand_as(increments)
    nodes = [first]
    for scale, step in zip(factors.unbind(1), increments.unbind(1), strict=True):
        nodes.append(scale * nodes[-1] + step)
    return torch.stack(nodes, dim=1)


def single_client_psi(segment: Segment, size: Tensor, weight: str, factor: float) -> Tensor:
    """Psi(n, c) of every client alone, for n = 0..T of a segment (equation 6). [S, T + 1, C]"""
    increments = client_increments(segment, size, weight)
    return accumulate(spread_clients(increments, segment.trace.cohort, size.shape[1]), factor)
