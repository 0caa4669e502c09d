"""Was my data deleted? The test of Sommer et al. (2022), "Towards Probabilistic Verification of Machine Unlearning".

A client queries the model with n triggered images that nobody trained on and counts how often it gets its own label.
H0, the data were deleted: the count is one of a model that never saw them. The client accuses the server when it counts
`threshold` or more. type I: an honest server is accused; at most alpha. type II: a server whose model answers at the
rate seen is believed.

Equal clients (`threshold`, what each row of the table `verification` holds): under H0 the count is binomial, with a
chance of at most p, the upper limit of scratch's rate over all who left. Clients are not equal: some triggers look like
their label to any model. So the report judges by `Honest`, counts that also spread from client to client.
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
_EQUAL, _MOST = 1e-6, 0.999  # spreads that count as none, and as all that there can be


def rate_limit(successes: float, trials: float, confidence: float = 0.95) -> float:
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


def type_2(trials: int, rates: Shares, limit: int) -> Shares:
    """How likely a server whose model answers triggers at these rates is believed."""
    return np.asarray(binom.cdf(limit - 1, trials, rates))


@dataclass(frozen=True)
class Honest:
    """Counts of clients whose data were deleted: beta-binomial, each client with a rate of its own."""

    rate: float  # upper limit of its mean over clients
    spread: float  # correlation of two answers to the same client; 0: all clients are equal

    @staticmethod
    def of(counts: Counts, trials: int) -> Honest:
        """By moments: the variance of counts is n p (1 - p) (1 + (n - 1) spread). As answers to the same client say the
        same, in part, the limit of the rate is that of so many fewer.
        """
        mean = counts.mean() / trials
        equal = trials * mean * (1 - mean)
        factor = max(1.0, counts.var(ddof=1) / equal) if len(counts) > 1 and trials > 1 and equal > 0 else 1.0
        spread = min(_MOST, (factor - 1) / max(1, trials - 1))
        return Honest(rate_limit(counts.sum() / factor, len(counts) * trials / factor), spread)

    def chances(self, trials: int, clients: int) -> Shares:
        """How likely each count, from 0 on, is of so many clients together."""
        if self.spread < _EQUAL or self.rate >= 1:
            total = trials * clients
            return np.asarray(binom.pmf(np.arange(total + 1), total, self.rate))
        a, b = (share * (1 / self.spread - 1) for share in (self.rate, 1 - self.rate))
        one = betabinom.pmf(np.arange(trials + 1), trials, a, b)
        together = np.ones(1)
        for _ in range(clients):
            together = np.convolve(together, one)
        return together


class Rule(NamedTuple):
    """When to accuse, and how likely that is by mistake."""

    threshold: int
    type_1: float


@cache
def accuse(honest: Honest, trials: int, clients: int, alpha: float) -> Rule:
    """The smallest count of so many clients together that an honest server reaches with at most alpha."""
    reached = np.append(honest.chances(trials, clients)[::-1].cumsum()[::-1], 0.0)  # each count or more
    limit = int(np.argmax(reached <= alpha))
    return Rule(limit, float(reached[limit]))
