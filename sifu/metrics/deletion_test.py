"""Was my data deleted? The test of Sommer et al. (2022), "Towards Probabilistic Verification of Machine Unlearning".

A client queries the model with n triggered held-out images and counts how often the answer is its own label. H0, the
data were deleted: the count comes from a model that never saw them. The client accuses the server if the count is at
least `threshold`. Type I error: an honest server is accused; at most alpha. Type II error: a server whose model answers
at the observed rate is believed.

If all clients are alike (`threshold`, the rows of the table `verification`), the count under H0 is binomial with
probability at most p, the upper limit of scratch's rate over all forgotten clients. But clients differ: some triggers
resemble their label to any model. So the report uses `HonestCounts`, which also vary from client to client.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, betabinom, binom

Counts = NDArray[np.int64]
Shares = NDArray[np.float64]
_NO_SPREAD, _MAX_SPREAD = 1e-6, 0.999


def rate_limit(successes: float, trials: float, confidence: float = 0.95) -> float:
    """The Clopper-Pearson upper limit of a rate."""
    if successes >= trials:
        return 1.0
    return float(beta.ppf(confidence, successes + 1, trials - successes))


def threshold(trials: int, chance: float, alpha: float) -> int:
    """The smallest t with P(Bin(trials, chance) >= t) <= alpha; trials + 1 if even `trials` successes prove nothing."""
    return int(binom.isf(alpha, trials, chance)) + 1


def type_1(trials: int, chance: float, limit: int) -> float:
    """The probability that an honest server is accused."""
    return float(binom.sf(limit - 1, trials, chance))


def type_2(trials: int, rates: Shares, limit: int) -> Shares:
    """The probability that a server is believed whose model answers triggers at these rates."""
    return np.asarray(binom.cdf(limit - 1, trials, rates))


@dataclass(frozen=True)
class HonestCounts:
    """The distribution of counts if the data were deleted: beta-binomial, each client with its own rate."""

    rate: float  # upper limit of the mean rate over clients
    spread: float  # correlation of two answers to the same client; 0: all clients are alike

    @staticmethod
    def of(counts: Counts, trials: int) -> HonestCounts:
        """Fitted by moments: the variance of counts is n p (1 - p) (1 + (n - 1) spread).

        Answers to the same client are correlated, so the limit of the rate is that of fewer independent answers.
        """
        mean = counts.mean() / trials
        binomial = trials * mean * (1 - mean)  # the variance if all clients were alike
        factor = max(1.0, counts.var(ddof=1) / binomial) if len(counts) > 1 and trials > 1 and binomial > 0 else 1.0
        spread = min(_MAX_SPREAD, (factor - 1) / max(1, trials - 1))
        return HonestCounts(rate_limit(counts.sum() / factor, len(counts) * trials / factor), spread)

    def chances(self, trials: int, clients: int) -> Shares:
        """The probability of each count, from 0 on, of `clients` clients together. [trials * clients + 1]"""
        if self.spread < _NO_SPREAD or self.rate >= 1:
            total = trials * clients
            return np.asarray(binom.pmf(np.arange(total + 1), total, self.rate))
        a, b = (share * (1 / self.spread - 1) for share in (self.rate, 1 - self.rate))
        single = betabinom.pmf(np.arange(trials + 1), trials, a, b)
        total_count = np.ones(1)
        for _ in range(clients):
            total_count = np.convolve(total_count, single)
        return total_count


class Accusation(NamedTuple):
    """The count from which on clients accuse, and the probability that they accuse an honest server."""

    threshold: int
    type_1: float


@cache
def accusation(honest: HonestCounts, trials: int, clients: int, alpha: float) -> Accusation:
    """The smallest count of `clients` clients together that an honest server reaches with probability <= alpha."""
    at_least = np.append(honest.chances(trials, clients)[::-1].cumsum()[::-1], 0.0)  # P(count >= each value)
    limit = int(np.argmax(at_least <= alpha))
    return Accusation(limit, float(at_least[limit]))
