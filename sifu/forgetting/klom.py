"""KLOM: how far the margins of unlearned models are from those of oracles, point by point (Georgiev et al. 2024).

KL(unlearned || oracles) of histograms with 20 equal bins over the joint range, margins clipped to +-100, and the
oracles' shares at least 1e-5 where unlearned models have some. Its mean and its 95th percentile are reported.

Few models make it large though nothing differs: every bin that one world has and the other has not costs ln(p / 1e-5).
So it never stands without its null, the same number of oracles against oracles. The Gaussian companion needs fewer. The
sample at the upper end of the range belongs to the last bin (np.digitize would drop it, in the released codes as well).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sifu.forgetting.sample import Flags, Floats, Ints, TooFewModels, enough_models, samples

BINS, CLIP, FLOOR = 20, 100.0, 1e-5
_PERCENTILE = 95
_TINY = 1e-300  # a variance: all models agree
PerPoint = Callable[[ArrayLike, ArrayLike], Floats]
_NULLS: dict[tuple[object, ...], Floats] = {}  # all variants are compared with the same oracles


@dataclass(frozen=True)
class Klom:
    """The mean and the 95th percentile over the points of a subset, next to their null."""

    mean: float
    percentile: float
    null_mean: float
    null_percentile: float
    null_deviation: float  # of the mean, over the draws of the null
    p_value: float  # of the mean, by permuted worlds
    models: tuple[int, int]
    enough: bool


def klom(unlearned: ArrayLike, oracles: ArrayLike) -> Floats:
    """KLOM of every point, in nats; margins [N, P] and [M, P] -> [P]."""
    one, two = (world.clip(-CLIP, CLIP) for world in samples("klom", unlearned, oracles))
    low, high = (np.minimum(one.min(0), two.min(0)), np.maximum(one.max(0), two.max(0)))
    p, q = (_shares(world, low, high) for world in (one, two))  # [P, bins]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p / np.maximum(q, FLOOR)), 0.0)
    return terms.sum(1)


def _shares(world: Floats, low: Floats, high: Floats) -> Floats:
    """The share of models in each bin of each point. [P, bins]"""
    width = np.where(high > low, high - low, 1.0)
    places: Ints = np.minimum(((world - low) / width * BINS).astype(np.int64), BINS - 1)  # the largest in the last bin
    points = world.shape[1]
    counts = np.bincount((places + BINS * np.arange(points)).ravel(), minlength=BINS * points)
    return counts.reshape(points, BINS) / len(world)


def gaussian_kl(unlearned: ArrayLike, oracles: ArrayLike) -> Floats:
    """KL of Gaussians fitted to both worlds, (s_u^2 + (m_u - m_o)^2) / s_o^2 - 1 + ln s_o^2 / s_u^2, halved; [N, P]
    and [M, P] -> [P]. Of N models a world that do not differ it is about 2 / N.
    """
    one, two = samples("gaussian_kl", unlearned, oracles)
    own, other = (np.maximum(world.var(0, ddof=1), _TINY) for world in (one, two))
    same = (own == _TINY) & (other == _TINY) & (one.mean(0) == two.mean(0))
    distance = (one.mean(0) - two.mean(0)) ** 2
    with np.errstate(over="ignore"):
        return np.where(same, 0.0, 0.5 * ((own + distance) / other - 1 + np.log(other / own)))


def against_null(
    unlearned: ArrayLike,
    oracles: ArrayLike,
    others: ArrayLike,
    worlds: Flags,
    metric: PerPoint = klom,
) -> Klom:
    """A metric with its null: oracles against `others` [K, P], which are oracles as well, assigned at random.

    The p-value is by permuted worlds [draws, N + M] of the models and the oracles themselves (`permuted_worlds`).
    """
    one, two = samples("klom", unlearned, oracles)
    both = np.concatenate([one, two])
    permuted = np.array([_summary(metric(both[chosen], both[~chosen])) for chosen in worlds])  # [draws, 2]
    pool = np.concatenate([two, *samples("klom", others)])
    null = _null_once(pool, min(len(one), len(two), len(pool) // 2), len(worlds), metric)
    return _judged(metric(one, two), permuted, null, (len(one), len(two)))


def _null_once(pool: Floats, models: int, draws: int, metric: PerPoint) -> Floats:
    """`oracle_null`, remembered."""
    key = hashlib.sha256(pool.tobytes()).digest(), pool.shape, models, draws, metric
    if key not in _NULLS:
        _NULLS[key] = oracle_null(pool, models, draws, metric)
    return _NULLS[key]


def oracle_null(oracles: ArrayLike, models: int, draws: int, metric: PerPoint = klom, key: int = 0) -> Floats:
    """Mean and 95th percentile between two disjoint sets of `models` oracles, of [M, P]; [draws, 2].

    What a perfect method would read with so many models a world.
    """
    (world,) = samples("klom", oracles)
    if 2 * models > len(world):
        raise TooFewModels(
            f"the null of {models} models a world needs {2 * models} oracles, and there are {len(world)}; "
            "train more oracles, or compare fewer models"
        )
    random, found = np.random.default_rng(key), []
    for _ in range(draws):
        order = random.permutation(len(world))
        found.append(_summary(metric(world[order[:models]], world[order[models : 2 * models]])))
    return np.array(found)


def _summary(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(np.percentile(values, _PERCENTILE))


def _judged(values: Floats, permuted: Floats, null: Floats, models: tuple[int, int]) -> Klom:
    mean, percentile = _summary(values)
    p_value = (1 + int((permuted[:, 0] >= mean - 1e-12).sum())) / (1 + len(permuted))
    middle, spread = null.mean(0), float(null[:, 0].std(ddof=1))
    nulls = float(middle[0]), float(middle[1]), spread
    return Klom(mean, percentile, *nulls, p_value, models, enough_models("klom", *models))
