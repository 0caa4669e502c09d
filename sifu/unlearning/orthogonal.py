"""Directions that are orthogonal to those of other clients."""

from __future__ import annotations

import torch
from torch import Tensor

_RANK, _NOTHING = 1e-12, 1e-6  # squared singular values, and lengths, below this share count as zero


def mean_of(rows: Tensor, cohort: Tensor) -> Tensor:
    """The plain mean of rows [S, m, P] of the clients in a cohort [S, m]; the others are zero. [S, P]"""
    return rows.sum(1) / (cohort >= 0).sum(1).clamp(min=1).to(rows)[:, None]


def orthogonal(direction: Tensor, rows: Tensor) -> Tensor:
    """`direction` [q, P] without its part in the span of `rows` [q, R, P], as long as before; 0: nothing is left."""
    a, d = rows.double(), direction.double()
    values, vectors = torch.linalg.eigh((a @ a.mT).nan_to_num())  # [q, R], [q, R, R]
    real = values > _RANK * values[:, -1:].clamp(min=0)
    root = values.where(real, 1.0).rsqrt().where(real, 0.0)
    basis = (vectors * root[:, None]).mT @ a  # [q, R, P], of length 1 or 0
    for _ in range(2):  # once more takes away what rounding left
        d = d - ((basis @ d[..., None]).mT @ basis)[:, 0]
    length, left = (part.double().norm(dim=1, keepdim=True) for part in (direction, d))
    return (d * (length / left)).where(left > _NOTHING * length, 0.0).to(direction.dtype)
