"""Aggregation of clients' weights: their mean, or the sum of shortened updates with noise (DP-FedAvg)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sifu.config.federation import Federation
from sifu.hardware.kernels import row_norms

_TINY = 1e-30  # avoids 0 / 0: an update of zero stays zero


def mean(old: Tensor, local: Tensor, weight: Tensor) -> Tensor:
    """The weighted mean over m, summed client by client so that rounding does not depend on the batch. [R, P]"""
    total = torch.zeros_like(old)
    for j in range(local.shape[1]):
        total.addcmul_(local[:, j], weight[:, j, None])
    return torch.where(weight.sum(1, keepdim=True) > 0, total, old)  # an empty cohort changes nothing


def shortened(update: Tensor, longest: float | Tensor) -> Tensor:
    """Updates [..., P], scaled down to norm `longest` where they are longer; a number, or one for each [..., 1]."""
    inverse = row_norms(update).unsqueeze(-1).clamp(min=_TINY).reciprocal()
    return update * (inverse * longest).clamp(max=1.0)


class RowPrivacy(NamedTuple):
    """DP-FedAvg's two numbers where they differ from row to row."""

    update_clip: Tensor  # [R, 1] C
    noise: Tensor  # [R, 1] float64


def private_mean(
    old: Tensor, local: Tensor, noise: Tensor, federation: Federation, rows: RowPrivacy | None = None
) -> Tensor:
    """Sum of shortened updates over m, plus noise [R, P] (McMahan et al. 2018, the fixed-denominator estimator).

    m is the expected size of a cohort, not the actual one. All clients have the same weight, whatever their number of
    examples: a client moves the result by at most C / m. An empty place has an update of zero. `rows`: C and noise of
    each row, in place of the federation's.
    """
    privacy = rows or federation.privacy
    assert privacy is not None
    total = torch.zeros_like(old)
    for j in range(local.shape[1]):
        total.add_(shortened(local[:, j] - old, privacy.update_clip))
    return old + total / federation.clients_per_round + (privacy.noise * noise).to(old.dtype)
