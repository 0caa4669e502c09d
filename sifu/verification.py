"""Was my data deleted? The test of Sommer et al. (2022), "Towards Probabilistic Verification of Machine Unlearning".

A client queries the model with n triggered images that nobody trained on and counts how often it gets its own label.
H0, the data were deleted: each answer is the client's label with a chance of at most p, that of a model that never saw
them. The client accuses the server when it counts `threshold` or more.
type I: an honest server is accused; at most alpha. type II: a server whose model answers at the rate seen is believed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom

Counts = NDArray[np.int64]
Shares = NDArray[np.float64]


def rate_limit(successes: int, trials: int, confidence: float = 0.95) -> float:
    """The Clopper-Pearson upper limit of a rate."""
    if successes >= trials:
        return 1.0
    return float(beta.ppf(confidence, successes + 1, trials - successes))


def threshold(trials: int, chance: float, alpha: float) -> int:
    """The smallest t with P(Bin(trials, chance) >= t) <= alpha; trials + 1 where even all successes prove nothing."""
    return int(binom.isf(alpha, trials, chance)) + 1


def type_1(trials: int, chance: float, limit: int) -> float:
    """How likely an honest server is accused."""
    return float(binom.sf(limit - 1, trials, chance))


class Verdict(NamedTuple):
    """What all clients of a request find out together."""

    rate: float  # of triggers that were answered with a client's own label
    threshold: float  # the rate from which on they accuse
    accused: bool
    type_1: float
    type_2: float


def joint_verdict(successes: int, trials: int, chance: float, alpha: float) -> Verdict:
    """The same test with everybody's queries counted together."""
    limit, rate = threshold(trials, chance, alpha), successes / trials
    missed = float(type_2(trials, np.array([rate]), limit)[0])
    return Verdict(rate, limit / trials, successes >= limit, type_1(trials, chance, limit), missed)


def type_2(trials: int, rates: Shares, limit: int) -> Shares:
    """How likely a server whose model answers triggers at these rates is believed."""
    return np.asarray(binom.cdf(limit - 1, trials, rates))
