"""Intervals of a mean over few independent units: exact for shares, Student's for other numbers."""

from __future__ import annotations

import math
from functools import cache

LEVEL = 0.95


@cache
def clopper_pearson(successes: int, trials: int, confidence: float = LEVEL) -> tuple[float, float]:
    """The exact two-sided confidence interval of a probability."""
    from scipy.special import betaincinv  # not at the top: most readers of tables need none of it

    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, tail))
    high = 1.0 if successes == trials else float(betaincinv(successes + 1, trials - successes, 1 - tail))
    return low, high


def student(mean: float, error: float, count: float, confidence: float = LEVEL) -> tuple[float, float]:
    """Student's interval of a mean with standard error `error` over `count` values; of one value it has no ends.

    `count` is one more than the degrees of freedom, which need not be whole.
    """
    if count < 2:
        return -math.inf, math.inf
    half = _student_quantile(count - 1, (1 + confidence) / 2) * error
    return mean - half, mean + half


@cache
def _student_quantile(freedom: float, rank: float) -> float:
    from scipy.special import stdtrit  # scipy.stats would take a second to load

    return float(stdtrit(freedom, rank))


def student_tail(distance: float, error: float, count: float) -> float:
    """The one-sided p-value of a mean that lies `distance` beyond a threshold, in the direction that is tested.

    1 for one value, which has no spread. Values that are all the same are beyond the threshold, or they are not.
    """
    if count < 2:
        return 1.0
    if error == 0:
        return 0.0 if distance > 0 else 1.0
    from scipy.special import stdtr

    return float(stdtr(count - 1, -distance / error))
