"""Was my data deleted? The test of Sommer et al. (2022), "Towards Probabilistic Verification of Machine Unlearning".

A client queries the model with n triggered held-out images and counts how often the answer is its own label. H0, the
data were deleted: the count comes from a model that never saw them. The client accuses the server if the count is at
least `threshold`. Type I error: an honest server is accused; at most alpha. Type II error: a server whose model answers
at the observed rate is believed.

If all clients are alike (`threshold`, the rows of the table `verification`), the count under H0 is binomial with
probability at most p, the upper limit of scratch's rate over all forgotten clients. But clients differ: some triggers
resemble their label to any model. So the report compares a client with its own count: that of scratch's model of the
same seed, which answered the same images (`prediction`). Triggers and forgotten clients are drawn for each seed, so
that models of other seeds never answered them. Of all seeds together only one number is taken: how much more two honest
models differ than draws from one rate (`disagreement`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, betabinom, binom

Counts = NDArray[np.int64]
Shares = NDArray[np.float64]


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


def disagreement(first: Counts, second: Counts, trials: int) -> float:
    """How much more two honest models differ in their counts than two draws from one rate would; at least 1.

    From pairs of counts of the same clients: the mean square of differences over its expectation, 2 n p (1 - p).
    """
    rates = (first + second) / (2 * trials)
    expected = float((2 * trials * rates * (1 - rates)).sum())
    return max(1.0, float(((first - second) ** 2).sum()) / expected) if expected > 0 else 1.0


@cache
def prediction(successes: int, trials: int, factor: float = 1.0) -> tuple[float, ...]:
    """The probability of each count, from 0 on, that another honest model has, where scratch had `successes`.

    Beta-binomial with Beta(successes + 1, trials - successes): its tail is Thatcher's (1964), which accuses an honest
    server with probability at most alpha, whatever the rate. `factor`: honest models differ more than by draws alone
    (`disagreement`), so that scratch's answers count as fewer: as n / (2 factor - 1), which gives the difference of two
    models the variance 2 factor n p (1 - p) that it has.
    """
    counts = np.arange(trials + 1)
    if successes >= trials:
        return tuple((counts == trials).astype(float))  # no count proves anything
    spread = 2 * factor - 1
    chances = betabinom.pmf(counts, trials, successes / spread + 1, (trials - successes) / spread)
    return tuple(float(chance) for chance in chances)


def predicted_sum(predictions: Sequence[tuple[float, ...]]) -> Shares:
    """The probability of each sum of counts, of clients whose counts are independent."""
    total = np.ones(1)
    for chances in predictions:
        total = np.convolve(total, chances)
    return total


class Accusation(NamedTuple):
    """The count from which on clients accuse, and the probability that they accuse an honest server."""

    threshold: int
    type_1: float


def accusation(chances: Sequence[float] | Shares, alpha: float) -> Accusation:
    """The smallest count that an honest server reaches with probability <= alpha, by the `chances` of each count."""
    at_least = np.append(np.asarray(chances)[::-1].cumsum()[::-1], 0.0)  # P(count >= each value)
    limit = int(np.argmax(at_least <= alpha))
    return Accusation(limit, float(at_least[limit]))
