"""How well one number tells two worlds apart: AUC with its null, and the rate of hits at few false alarms.

AUC = P(first > second) + P(first = second) / 2 (Mann and Whitney 1947). Rates at low false-positive rates as LiRA asks
for them (Carlini et al. 2022), but with the counts that were realised, never between two points of the curve.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from sifu.errors import SifuError
from sifu.forgetting.sample import Floats, samples

LOW_RATES = (0.01, 0.001)  # false-positive rates that are reported
_ROUNDING = 1e-9  # 0.29 * 100 is a little below 29


def auc(first: ArrayLike, second: ArrayLike) -> Floats:
    """P(first > second), ties counted half; worlds [N, ...] and [M, ...] -> [...]."""
    return mann_whitney(*samples("auc", first, second))


def mann_whitney(first: Floats, second: Floats) -> Floats:
    """As `auc`, for parts of worlds: of any number of models, which the caller has checked."""
    ranks = rankdata(np.concatenate([first, second]), axis=0)  # ties share their mean rank
    return rank_auc(ranks[: len(first)].sum(0), len(first), len(second))


def rank_auc(rank_sum: Floats, first: int, second: int) -> Floats:
    """AUC from the sum of the first world's ranks among both, (R - N (N + 1) / 2) / (N M)."""
    return np.asarray((rank_sum - first * (first + 1) / 2) / (first * second))


def auc_null_deviation(first: int, second: int) -> float:
    """The standard deviation of an AUC of N and M models that do not differ: sqrt((N + M + 1) / (12 N M)).

    For N = M it is sqrt((2 N + 1) / (12 N^2)). Ties make it smaller, and so does a pairing by seeds.
    """
    return math.sqrt((first + second + 1) / (12 * first * second))


class LowRate(NamedTuple):
    """Hits at few false alarms, as counts: `hits` of `positives` at `alarms` of `negatives`."""

    hits: int
    positives: int
    alarms: int
    negatives: int
    allowed: int  # false alarms that the wanted rate allows: 0 says that the rate was too low for so few negatives

    def __str__(self) -> str:
        return f"{self.hits} of {self.positives} at {self.alarms} of {self.negatives}"


def low_rate(positives: ArrayLike, negatives: ArrayLike, rate: float) -> LowRate:
    """Hits above the lowest threshold with at most `rate` of the negatives above it; scores of any shape."""
    hits, others = np.ravel(np.asarray(positives, np.float64)), np.sort(np.ravel(np.asarray(negatives, np.float64)))
    if not (len(hits) and len(others)) or not 0 <= rate < 1:
        raise SifuError(f"a rate of hits needs scores of both worlds and a rate from 0 to below 1, not {rate}")
    allowed = math.floor(rate * len(others) + _ROUNDING)
    threshold = others[len(others) - 1 - allowed]  # what is equal to it is no alarm
    return LowRate(int((hits > threshold).sum()), len(hits), int((others > threshold).sum()), len(others), allowed)
