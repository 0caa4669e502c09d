"""The sensitivity that noise hides, the noise that a sensitivity needs, and the guarantee that really holds."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sifu.certificate.gaussian import delta_at, epsilon_at, largest_ratio
from sifu.certificate.rules import delta_of, rules_of
from sifu.config.certificate import Certificate
from sifu.core.keys import Keys


def hidden_ratio(certificate: Certificate, num_clients: int) -> float:
    """The largest Psi / sigma that the certificate allows under its own mechanism."""
    delta = delta_of(certificate, num_clients)
    return largest_ratio(certificate.epsilon, delta, rules_of(certificate).mechanism)


def psi_star(certificate: Certificate, num_clients: int) -> float:
    """Psi*: the sensitivity that noise of sigma hides (equation 9)."""
    return certificate.sigma * hidden_ratio(certificate, num_clients)


def needed_sigma(certificate: Certificate, num_clients: int, psi: Tensor) -> Tensor:
    """The noise that hides `psi` (theorem 2)."""
    return psi / hidden_ratio(certificate, num_clients)


def descent_sigma(certificate: Certificate, num_clients: int, distance: Tensor) -> Tensor:
    """The noise that hides `distance` as Neel et al. count it (through zero-concentrated privacy), or exactly. [S]"""
    if rules_of(certificate).mechanism == "analytic":
        return needed_sigma(certificate, num_clients, distance)
    log = math.log(1 / delta_of(certificate, num_clients))
    return distance / (math.sqrt(2) * (math.sqrt(log + certificate.epsilon) - math.sqrt(log)))


def add_noise(model: Tensor, sigma: float | Tensor, keys: Keys) -> Tensor:
    """Models [S, P] plus normal noise of standard deviation `sigma`, one number or one a seed [S], on each weight."""
    noise = keys.fold("noise").normal(model.shape[1])  # [S, P] float64
    if isinstance(sigma, Tensor):
        return model + (sigma.to(noise.device)[:, None] * noise).to(model.dtype)
    return model + sigma * noise.to(model.dtype)


def actual_guarantee(epsilon: float, delta: float, psi: Tensor, sigma: Tensor) -> tuple[Tensor, Tensor]:
    """The (epsilon at the claimed delta, delta at the claimed epsilon) of noise `sigma` on a sensitivity `psi`. [S]"""
    ratio = (psi / sigma).nan_to_num(nan=float("inf"), posinf=float("inf"))  # a NaN guarantees nothing
    ratio = torch.where(psi == 0, 0.0, ratio)  # a sensitivity of zero needs no noise
    if delta == 0.0:
        return ratio.where(ratio == 0, float("inf")), delta_at(epsilon, ratio)
    return epsilon_at(delta, ratio), delta_at(epsilon, ratio)
