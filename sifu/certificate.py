"""How far a client can have moved the model: the paper's sensitivity Psi (Theorem 1), from the recorded distances."""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.history import Trace


def client_shares(size: Tensor) -> Tensor:
    """p_c: each client's share of all examples of its federation. [S, C] float64"""
    return size.double() / size.sum(1, keepdim=True)


def sensitivity_increments(trace: Trace, size: Tensor) -> Tensor:
    """Delta_c(I, theta^n) = p_c / (1 - p_c) ||theta^{n+1} - theta_c^{n+1}||, as published. [S, T, m]

    A client that was not sampled contributes nothing to the round.
    """
    share = client_shares(size)  # [S, C]
    odds = (share / (1 - share)).unsqueeze(1).expand(-1, trace.cohort.shape[1], -1)  # [S, T, C]
    return torch.where(trace.cohort >= 0, odds.gather(2, trace.cohort.clamp(min=0)) * trace.distance, 0.0)


def sensitivity(increments: Tensor, cohort: Tensor, num_clients: int, contraction: float, local_steps: int) -> Tensor:
    """Psi(n, c) = sum over s < n of B^{(n - s - 1) K} Delta_c(I, theta^s), for n = 1..T (equation 6). [S, T, C]"""
    spread = torch.zeros(*cohort.shape[:2], num_clients, dtype=torch.float64)
    spread.scatter_add_(2, cohort.clamp(min=0), increments.double())  # an absent client adds 0 to client 0
    factor = contraction**local_steps
    if factor == 1.0:
        return spread.cumsum(1)
    for n in range(1, spread.shape[1]):
        spread[:, n] += factor * spread[:, n - 1]
    return spread
