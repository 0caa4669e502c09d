"""The score of the NeurIPS 2023 machine-unlearning competition (Triantafillou et al. 2024), with the oracles' own.

For every example, attacks tell N unlearned models from N retrained ones with false-positive and false-negative rates:
    epsilon = max over attacks of max{ln((1 - delta - FPR) / FNR), ln((1 - delta - FNR) / FPR)},  delta = 0.01.
Both rates 0: infinite. Exactly one of them 0: the attack is discarded. n is the bin of epsilon, 13 of width 0.5, and
    F = mean over examples of 2 / 2^n;   total = F x retain accuracy / scratch's x test accuracy / scratch's.
The attacks here are all thresholds on the margin. F of a perfect method is far below 1 with few models, so it never
stands without N and the F of oracles against oracles. It is a function for margins of your own: no stage scores a
method by it, and no table has its score. The table `power` says what it can see.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sifu.forgetting.sample import Flags, Floats, Ints, enough_models, samples

DELTA, WIDTH, BINS = 0.01, 0.5, 13


@dataclass(frozen=True)
class NeuripsScore:
    """F of a method, the F of oracles against oracles, the number of models, and the total."""

    forgetting: float
    of_oracles: float
    models: tuple[int, int]
    total: float
    enough: bool


def example_epsilons(unlearned: ArrayLike, oracles: ArrayLike, *, both_ways: bool = True) -> Floats:
    """epsilon of every example; margins [N, P] and [M, P] -> [P].

    `both_ways`: thresholds from above and from below, as a method may also forget too much. The published limits of F
    are of thresholds from above alone.
    """
    one, two = samples("neurips_score", unlearned, oracles)
    both = np.ascontiguousarray(np.concatenate([one, two]).T)  # [P, N + M]
    order = np.argsort(both, axis=1)
    missed = np.cumsum(order < len(one), axis=1)  # unlearned models at or below each threshold
    quiet = np.arange(1, both.shape[1] + 1) - missed  # the same of oracles
    found = _epsilons(len(one), len(two))
    if both_ways:
        found = np.maximum(found, found[::-1, ::-1])  # those above are the missed and the quiet ones
    return np.where(_tied(both, order), 0.0, found[missed, quiet]).max(1)


def _epsilons(unlearned: int, oracles: int) -> Floats:
    """epsilon of a threshold, by how many unlearned models and how many oracles are at or below it. [N + 1, M + 1]"""
    missed, quiet = np.arange(unlearned + 1)[:, None], np.arange(oracles + 1)
    false_negative, false_positive = np.broadcast_arrays(missed / unlearned, (oracles - quiet) / oracles)
    rates = ((false_positive, false_negative), (false_negative, false_positive))
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = [np.log((1 - DELTA - a) / b) for a, b in rates]
    found = np.nan_to_num(np.fmax(*sides), nan=0.0)  # a side whose 1 - delta - rate is negative does not count
    perfect, one_sided = (missed == 0) & (quiet == oracles), (missed == 0) ^ (quiet == oracles)
    return np.maximum(np.where(perfect, np.inf, np.where(one_sided, 0.0, found)), 0.0)


def _tied(both: Floats, order: Ints) -> Flags:
    """Where the next value is the same: no threshold is between them. [P, N + M] bool"""
    values = np.take_along_axis(both, order, axis=1)
    return np.concatenate([values[:, 1:] == values[:, :-1], np.zeros((len(both), 1), bool)], axis=1)


def forgetting_quality(epsilons: ArrayLike) -> float:
    """F, the mean of 2 / 2^n; epsilons [P], n = 1 for epsilon below 0.5, the last bin is open."""
    bins = np.minimum(np.floor(np.asarray(epsilons, np.float64) / WIDTH), BINS - 1) + 1
    return float((2 / 2**bins).mean())


def neurips_score(
    unlearned: ArrayLike,
    oracles: tuple[ArrayLike, ArrayLike],
    retain_accuracy: tuple[float, float],
    test_accuracy: tuple[float, float],
) -> NeuripsScore:
    """The score of margins [N, P] of forgotten points against oracles [M, P]; the second oracles [N, P] are others, for
    the oracles' own F. Accuracies: the method's, then scratch's.
    """
    quality = forgetting_quality(example_epsilons(unlearned, oracles[0]))
    own = forgetting_quality(example_epsilons(oracles[1], oracles[0]))
    kept = [mine / scratch for mine, scratch in (retain_accuracy, test_accuracy)]
    counts = len(np.asarray(unlearned)), len(np.asarray(oracles[0]))
    return NeuripsScore(quality, own, counts, quality * kept[0] * kept[1], enough_models("neurips_score", *counts))
