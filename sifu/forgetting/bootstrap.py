"""Bootstrap intervals over seeds of a statistic that is no mean: seeds are drawn again, with all models of a seed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from sifu.core.intervals import LEVEL
from sifu.forgetting.sample import Floats, Ints

RESAMPLES = 1000


def seed_interval(
    statistic: Callable[[Ints], float], seeds: ArrayLike, resamples: int = RESAMPLES, level: float = LEVEL
) -> tuple[float, float]:
    """The percentile interval of `statistic`, a function of rows [N]; the same resamples every time, in any order of
    the seeds. Resamples on which the statistic is not finite are left out.
    """
    order = np.argsort(np.asarray(seeds), kind="stable")
    values = np.array([statistic(order[draw]) for draw in _draws(len(order), resamples)])
    return interval(values, level)


def interval(values: Floats, level: float = LEVEL) -> tuple[float, float]:
    """The percentile interval of resampled values [resamples]; without ends where none is finite."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return -np.inf, np.inf
    low, high = np.quantile(finite, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


@cache
def _draws(size: int, resamples: int) -> Ints:
    """Places of resamples with replacement. [resamples, size]"""
    return np.random.default_rng(0).integers(size, size=(resamples, size))
