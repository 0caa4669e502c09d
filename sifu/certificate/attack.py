"""An attack on a certificate: one number of a model, and a threshold. Chosen on some models, it is counted on others.

The attacker knows everything but the random draws: it trains both worlds itself, also without the noise, and then tries
several statistics. Which one is used does not matter to the proof, only to how much is proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sifu.certificate.audit import CONFIDENCE

Loss = Callable[[Tensor], Tensor]  # models [n, P] -> their loss on the forgotten clients' data [n]
_THRESHOLDS = 200  # tried
_REMAINDER = 1e-9  # of the mean variance: makes a matrix invertible where there is no noise


class Sample(NamedTuple):
    """Models of both worlds, a row each, as they are released and before the noise that is added last. All [n, P]."""

    joined: Tensor
    never: Tensor
    joined_clear: Tensor
    never_clear: Tensor

    def part(self, rows: slice) -> Sample:
        return Sample(*(models[rows] for models in self))


@dataclass(frozen=True)
class Attack:
    """A statistic with its threshold: which models it accepts, and in which world it should."""

    statistic: str
    vector: Tensor  # [P] a direction, or the middle of a world
    sign: float  # 1: larger in the world in which the clients took part
    threshold: float
    swapped: bool  # accepts the models of the world in which the clients never took part

    def accepts(self, models: Tensor, loss: Loss) -> Tensor:
        """Models [n, P] -> [n] bool."""
        scores = self.sign * _scores(self.statistic, self.vector, models, loss)
        return scores < self.threshold if self.swapped else scores > self.threshold

    def count(self, joined: Tensor, never: Tensor, loss: Loss) -> tuple[int, int]:
        """Hits and false alarms among models [n, P] of both worlds."""
        accepted = [int(self.accepts(models, loss).sum()) for models in (joined, never)]
        return (accepted[1], accepted[0]) if self.swapped else (accepted[0], accepted[1])


def choose_attack(sample: Sample, sigma: float, loss: Loss, trials: int, delta: float) -> Attack:
    """The attack that should prove most with `trials` models a world; `sigma`: the noise that was added last.

    Directions are fitted to one half of the sample; statistics and thresholds are compared on the other.
    """
    half = len(sample.joined) // 2
    fitted, compared = sample.part(slice(half)), sample.part(slice(half, None))
    best: tuple[float, Attack] | None = None
    for name, fit in _STATISTICS.items():
        vector = fit(fitted, sigma)
        scores = [_scores(name, vector, models, loss).cpu().numpy() for models in compared[:2]]
        sign = 1.0 if scores[0].mean() >= scores[1].mean() else -1.0
        for swapped in (False, True):
            value, threshold = _threshold(sign * scores[0], sign * scores[1], swapped, trials, delta)
            if best is None or value > best[0]:
                best = value, Attack(name, vector, sign, threshold, swapped)
    assert best is not None
    return best[1]


def _scores(name: str, vector: Tensor, models: Tensor, loss: Loss) -> Tensor:
    """One number a model. [n] float64"""
    if name == "loss":
        return -loss(models).double()
    if name == "distance":
        return (models - vector).double().norm(dim=1)
    return models.double() @ vector.double()


def _difference(sample: Sample, sigma: float) -> Tensor:
    """From the middle of one world to that of the other. [P]"""
    return sample.joined_clear.mean(0) - sample.never_clear.mean(0)


def _discriminant(sample: Sample, sigma: float) -> Tensor:
    """Fisher's direction: the difference, divided by the covariance of the trainings and of the noise. [P]

    There are fewer models than weights, so the inverse is taken in the space of the models.
    """
    worlds = (sample.joined_clear.double(), sample.never_clear.double())
    spread = torch.cat([world - world.mean(0) for world in worlds]) / max(1, 2 * len(worlds[0]) - 2) ** 0.5  # [2n, P]
    difference = worlds[0].mean(0) - worlds[1].mean(0)
    own = max(sigma**2, _REMAINDER * float(spread.square().sum(0).mean()), 1e-300)
    inner = spread @ spread.T + own * torch.eye(len(spread), dtype=spread.dtype, device=spread.device)
    return ((difference - spread.T @ torch.linalg.solve(inner, spread @ difference)) / own).float()


def _scaled_difference(sample: Sample, sigma: float) -> Tensor:
    """The difference, each weight divided by its own variance. [P]"""
    variance = (sample.joined.var(0) + sample.never.var(0)) / 2
    return _difference(sample, sigma) / variance.clamp(min=max(float(variance.mean()) * 1e-3, 1e-30))


_STATISTICS: dict[str, Callable[[Sample, float], Tensor]] = {
    "difference": _difference,
    "scaled difference": _scaled_difference,
    "discriminant": _discriminant,
    "distance": lambda sample, sigma: sample.never_clear.mean(0),
    "loss": lambda sample, sigma: sample.never.new_zeros(1),
}

Array = NDArray[np.float64]


def _threshold(joined: Array, never: Array, swapped: bool, trials: int, delta: float) -> tuple[float, float]:
    """The largest epsilon that `trials` models should prove, and its threshold, from scores [n] of both worlds."""
    both = np.concatenate([joined, never])
    margin = both.std() + 1e-300
    thresholds = np.linspace(both.min() - margin, both.max() + margin, _THRESHOLDS)
    above = [_share_above(scores, thresholds) for scores in (joined, never)]
    hit, alarm = (1 - above[1], 1 - above[0]) if swapped else (above[0], above[1])
    proved = _expected(hit * trials, alarm * trials, trials, delta)
    best = int(proved.argmax())
    return float(proved[best]), float(thresholds[best])


def _share_above(scores: Array, thresholds: Array) -> Array:
    """The share of scores above each threshold, smoothed: the tails matter, and few scores are there."""
    from scipy.stats import norm

    width = max(0.9 * scores.std() * len(scores) ** -0.2, 1e-12 * max(1.0, np.abs(scores).max()))
    return norm.sf((thresholds[:, None] - scores) / width).mean(1)


def _expected(hits: Array, alarms: Array, trials: int, delta: float) -> Array:
    """As `proved_epsilon`, for many expected numbers at once; not below delta / e."""
    from scipy.stats import beta

    tail = (1 - CONFIDENCE) / 2
    hits, alarms = hits.clip(1e-9, trials - 1e-9), alarms.clip(1e-9, trials - 1e-9)
    low, high = beta.ppf(tail, hits, trials - hits + 1), beta.ppf(1 - tail, alarms + 1, trials - alarms)
    return np.log((low - delta).clip(1e-12) / high)
