"""An audit: a lower bound on epsilon from many draws of the noise, independent of the certificate.

Two worlds, with and without a client; each releases its own model plus noise. The best attack on two Gaussians of the
same variance projects on their difference and compares with a threshold. Its hits and false alarms bound epsilon from
below: P(hit) <= e^epsilon P(false alarm) + delta.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sifu.certificate.gaussian import largest_ratio
from sifu.config.certificate import Certificate
from sifu.config.fields import build
from sifu.core.intervals import clopper_pearson
from sifu.core.keys import Keys
from sifu.errors import ConfigError

_THRESHOLDS = 9


def epsilon_lower_bound(with_client: Tensor, without_client: Tensor, delta: float, confidence: float = 0.95) -> float:
    """The largest epsilon that the scores [n] of two worlds prove at `delta`, with the given confidence.

    Thresholds are chosen on the first half of the draws and tested on the second, each at a confidence such that all
    of them together have `confidence`.
    """
    half = len(with_client) // 2
    ranks = 1 - torch.logspace(-0.3, -math.log10(max(half, 4) / 2), _THRESHOLDS, dtype=with_client.dtype)
    thresholds = torch.quantile(without_client[:half], ranks)  # from the middle deep into the tail
    each = 1 - (1 - confidence) / _THRESHOLDS
    hits = [int((with_client[half:] > t).sum()) for t in thresholds]
    alarms = [int((without_client[half:] > t).sum()) for t in thresholds]
    trials = len(with_client) - half
    return max(_epsilon(hit, alarm, trials, delta, each) for hit, alarm in zip(hits, alarms, strict=True))


def most_provable(draws: int, delta: float, confidence: float = 0.95) -> float:
    """The epsilon that this many draws can prove at most, for a mechanism that hides nothing."""
    trials = draws - draws // 2
    return _epsilon(trials, 0, trials, delta, 1 - (1 - confidence) / _THRESHOLDS)


def _epsilon(hits: int, alarms: int, trials: int, delta: float, confidence: float) -> float:
    hit_low, _ = clopper_pearson(hits, trials, confidence)
    _, alarm_high = clopper_pearson(alarms, trials, confidence)
    return math.log((hit_low - delta) / alarm_high) if hit_low > delta else 0.0


def audit_models(theta: Tensor, phi: Tensor, sigma: float, delta: float, draws: int, key: Keys) -> float:
    """The proven epsilon of noise `sigma` on the models `theta` and `phi` [P], from `draws` draws of each."""
    difference = (theta - phi).double()
    direction = difference / difference.norm().clamp(min=1e-300)
    chunk = max(1, 2**22 // len(theta))
    scores: list[list[Tensor]] = [[], []]
    for number, start in enumerate(range(0, draws, chunk)):
        count = min(chunk, draws - start)
        for world, model in enumerate((theta, phi)):
            noise = key.fold("audit", world, number).normal(count * len(theta)).view(count, -1)
            scores[world].append((model.double() + sigma * noise) @ direction)
    return epsilon_lower_bound(torch.cat(scores[0]), torch.cat(scores[1]), delta)


def print_audit(epsilon: float, delta: float, noise: float, draws: int) -> None:
    """Audit `noise` times the exact noise for two models at distance 1, and print the result."""
    certificate = build(Certificate, {"epsilon": epsilon, "delta": delta, "sigma": noise}, "audit")
    if draws < 100 or noise <= 0:
        raise ConfigError("--draws and --noise", (draws, noise), "at least 100 draws, and noise above 0")
    sigma = noise / largest_ratio(certificate.epsilon, certificate.delta, "analytic")
    theta = torch.zeros(8, dtype=torch.float64)
    phi = theta.clone()
    phi[0] = 1.0
    proved = audit_models(theta, phi, sigma, delta, draws, Keys.of([0]).rows(0))
    limit = most_provable(draws, delta)
    verdict = "the certificate is broken" if proved > epsilon else "no contradiction"
    if limit <= epsilon:
        verdict = f"cannot tell: {draws} draws prove at most {limit:.2f}"
    print(f"claimed epsilon {epsilon:g} at delta {delta:g}; proved by {draws} draws: {proved:.3f} ({verdict})")
