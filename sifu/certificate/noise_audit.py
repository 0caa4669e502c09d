"""An audit of the noise alone: how far two noised models are apart, in units of the noise, from draws of both.

Two models at a known distance, each released with Gaussian noise. Projected on their difference, the draws of both are
Gaussians of the same variance, and mu = distance / standard deviation decides everything: epsilon at any delta follows
from it exactly. Draws give mu with a confidence interval; its lower end gives a lower bound on epsilon. That needs
Gaussian projections, which is tested; counting (audit.py) needs no such assumption, but far more draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sifu.certificate.audit import CANNOT_TELL, CONFIDENCE, NOT_REFUTED, REFUTED
from sifu.certificate.gaussian import delta_at, epsilon_at, largest_ratio
from sifu.certificate.noise import add_noise
from sifu.config.certificate import Certificate
from sifu.config.fields import build
from sifu.core.keys import Keys
from sifu.errors import ConfigError

_SIGNIFICANCE = 0.01  # of the test whether projections are Gaussian
_FEWEST = 100  # draws: with fewer, that test means little
_ROUNDING = 1e-12  # of a projection, relative: the same product may end in other bits in another row of a matrix


@dataclass(frozen=True)
class NoiseAudit:
    """mu of two noised models, between two ends, and what follows from the lower one."""

    low: float
    high: float
    gaussian: bool  # whether the projections passed the test

    def epsilon(self, delta: float) -> float:
        """A lower bound on epsilon at `delta`."""
        return float(epsilon_at(delta, torch.tensor([self.low], dtype=torch.float64)))

    def delta(self, epsilon: float) -> float:
        """A lower bound on delta at `epsilon`."""
        return float(delta_at(epsilon, torch.tensor([self.low], dtype=torch.float64)))

    def verdict(self, epsilon: float, delta: float) -> str:
        if not self.gaussian:
            return CANNOT_TELL
        return REFUTED if self.epsilon(delta) > epsilon else NOT_REFUTED


def audit_scores(with_client: Tensor, without_client: Tensor, confidence: float = CONFIDENCE) -> NoiseAudit:
    """mu from projections [n] of two worlds' draws on the difference, which points to the first world.

    Each end of the interval may be wrong by its mean or by its variance: a quarter of the error goes to each.
    """
    from scipy.stats import chi2, t

    worlds = [world.double() for world in (with_client, without_client)]
    freedom = sum(len(world) - 1 for world in worlds)
    variance = float(sum((world - world.mean()).square().sum() for world in worlds)) / freedom
    difference = float(worlds[0].mean() - worlds[1].mean())
    largest = max(float(world.abs().max()) for world in worlds)
    if variance <= (_ROUNDING * largest) ** 2:  # no noise at all
        mu = math.inf if difference > 0 else 0.0
        return NoiseAudit(mu, mu, gaussian=True)
    tail = (1 - confidence) / 4
    error = float(t.ppf(1 - tail, freedom)) * math.sqrt(variance * sum(1 / len(world) for world in worlds))
    widest, narrowest = (math.sqrt(freedom * variance / chi2.ppf(share, freedom)) for share in (tail, 1 - tail))
    low, high = max(0.0, difference - error) / widest, max(0.0, difference + error) / narrowest
    return NoiseAudit(low, high, is_gaussian(*worlds))


def is_gaussian(with_client: Tensor, without_client: Tensor) -> bool:
    """Whether two samples may be Gaussians of the same variance: skewness and kurtosis of both, and their variances."""
    from scipy.stats import bartlett, normaltest

    samples = [world.numpy() for world in (with_client, without_client)]
    values = [float(normaltest(sample).pvalue) for sample in samples] + [float(bartlett(*samples).pvalue)]
    return min(values) >= _SIGNIFICANCE / len(values)


def audit_models(theta: Tensor, phi: Tensor, sigma: float, draws: int, key: Keys) -> NoiseAudit:
    """The audit of noise `sigma` on the models `theta` and `phi` [P], from `draws` draws of each.

    The noise is that of the methods themselves (`add_noise`), a key a draw.
    """
    difference = (theta - phi).double()
    direction = difference / difference.norm().clamp(min=1e-300)
    chunk = max(1, 2**22 // len(theta))
    scores: list[list[Tensor]] = [[], []]
    for start in range(0, draws, chunk):
        numbers = torch.arange(start, min(start + chunk, draws), device=key.state.device)
        for world, model in enumerate((theta, phi)):
            keys = key.fold("audit", world).each(numbers)  # [n]
            scores[world].append(add_noise(model.double().expand(len(numbers), -1), sigma, keys) @ direction)
    return audit_scores(torch.cat(scores[0]), torch.cat(scores[1]))


def print_noise_audit(epsilon: float, delta: float, noise: float, draws: int) -> None:
    """Audit `noise` times the exact noise for two models at distance 1, and print the result."""
    certificate = build(Certificate, {"epsilon": epsilon, "delta": delta, "sigma": noise}, "audit")
    if draws < _FEWEST or noise <= 0:
        raise ConfigError("--draws and --noise", (draws, noise), f"at least {_FEWEST} draws, and noise above 0")
    sigma = noise / largest_ratio(certificate.epsilon, certificate.delta, "analytic")
    theta = torch.zeros(8, dtype=torch.float64)
    phi = theta.clone()
    phi[0] = 1.0
    found = audit_models(theta, phi, sigma, draws, Keys.of([0]).rows(0))
    mu = f"mu from {draws} draws: {found.low:.3f} to {found.high:.3f}"
    print(f"claimed: epsilon {epsilon:g} at delta {delta:g}; {mu}")
    print(f"proved: epsilon at least {found.epsilon(delta):.3f}, delta at least {found.delta(epsilon):.3g}", end=" ")
    print(f"({found.verdict(epsilon, delta)}{'' if found.gaussian else ': the projections are not Gaussian'})")
