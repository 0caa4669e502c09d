"""What the server makes of its clients' weights: their mean, or the sum of shortened updates with noise (DP-FedAvg)."""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.config.federation import Federation
from sifu.hardware.kernels import row_norms

_TINY = 1e-30  # an update of nothing stays nothing


def mean(old: Tensor, local: Tensor, weight: Tensor) -> Tensor:
    """The weighted mean over m, one client after another: its rounding does not depend on the batch. [R, P]"""
    total = torch.zeros_like(old)
    for j in range(local.shape[1]):
        total.addcmul_(local[:, j], weight[:, j, None])
    return torch.where(weight.sum(1, keepdim=True) > 0, total, old)  # nobody came: nothing changes


def shortened(update: Tensor, longest: float) -> Tensor:
    """Updates [..., P] of at most a given length."""
    return update * (longest / row_norms(update).unsqueeze(-1).clamp(min=_TINY)).clamp(max=1.0)


def private_mean(old: Tensor, local: Tensor, noise: Tensor, federation: Federation) -> Tensor:
    """Shortened updates over m, whoever came, plus noise [R, P] (McMahan et al. 2018, the fixed-denominator estimator).

    Everybody counts the same, however many examples one has: a client moves the result by at most C / m. A client that
    did not come has an update of zero.
    """
    privacy = federation.privacy
    assert privacy is not None
    total = torch.zeros_like(old)
    for j in range(local.shape[1]):
        total.add_(shortened(local[:, j] - old, privacy.update_clip))
    return old + total / federation.clients_per_round + (privacy.noise * noise).to(old.dtype)
