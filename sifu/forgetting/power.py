"""Power: the smallest effect that a metric can see with so many models a world.

From oracles' own margins: two sets of N oracles that do not differ, one of them shifted by k standard deviations of the
client's mean margin. A metric sees k if it exceeds, in 90% of the draws, what it exceeds in 5% of the draws without a
shift. The same draws serve every k. For one AUC of Gaussian statistics there is a formula as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, owens_t

from sifu.forgetting.auc import auc, auc_null_deviation
from sifu.forgetting.distances import disagreement, jensen_shannon
from sifu.forgetting.klom import gaussian_kl, klom
from sifu.forgetting.neurips_score import example_epsilons, forgetting_quality
from sifu.forgetting.ruli import separated
from sifu.forgetting.sample import NEEDS, Floats, Ints, TooFewModels, require_models, samples
from sifu.forgetting.u_lira import u_lira
from sifu.forgetting.worst_decile import worst_decile

POWER, LEVEL = 0.9, 0.05
_LARGEST = 64.0  # standard deviations: a metric that misses them sees nothing
_CLOSE = 0.02  # relative error of the smallest effect
_AT_ONCE = 4_000_000  # margins of a world that are compared at a time: memory
Score = Callable[[Floats, Floats], Floats]  # D draws of two worlds, [N, D, P] each -> [D], large where they differ


def _auc_score(one: Floats, two: Floats) -> Floats:
    return np.abs(auc(one.mean(2), two.mean(2)) - 0.5)


def _u_lira_score(one: Floats, two: Floats) -> Floats:
    return u_lira(one.mean(2), two.mean(2), *_seeds(one, two)).auc


def _ruli_score(one: Floats, two: Floats) -> Floats:
    return separated(one.mean(2), two.mean(2), *_seeds(one, two)).auc


def _klom_score(one: Floats, two: Floats) -> Floats:
    return klom(_points(one), _points(two)).reshape(one.shape[1:]).mean(1)


def _gaussian_score(one: Floats, two: Floats) -> Floats:
    return gaussian_kl(_points(one), _points(two)).reshape(one.shape[1:]).mean(1)


def _neurips_score(one: Floats, two: Floats) -> Floats:
    epsilons = example_epsilons(_points(one), _points(two)).reshape(one.shape[1:])
    return np.array([-forgetting_quality(own) for own in epsilons])


def _jensen_shannon_score(one: Floats, two: Floats) -> Floats:
    return jensen_shannon(_points(one), _points(two)).reshape(one.shape[1:]).mean(1)


def _accuracy_score(one: Floats, two: Floats) -> Floats:
    """By the examples whose right class has more than half of the probability: what a shift makes of the rest is not
    in the margins.
    """
    return np.abs((one > 0).mean((0, 2)) - (two > 0).mean((0, 2)))


def _disagreement_score(one: Floats, two: Floats) -> Floats:
    """Of the same, as which class a model says where the right one has less than half is not in the margins: beyond the
    disagreement of models whose worlds are named at random, which is its null (`against_null`).
    """
    sides = [_points(world) > 0 for world in (one, two)]
    both = np.concatenate(sides)
    return (disagreement(*sides) - disagreement(both, both)).reshape(one.shape[1:]).mean(1)


def _worst_decile_score(one: Floats, two: Floats) -> Floats:
    """Of clients in place of points."""
    means = [np.mean([worst_decile(model) for model in world], axis=0) for world in (one, two)]  # [D] each
    return np.abs(means[0] - means[1])


def _seeds(one: Floats, two: Floats) -> tuple[Ints, Ints]:
    """Numbers for models that are all independent."""
    return np.arange(len(one)), len(one) + np.arange(len(two))


def _points(world: Floats) -> Floats:
    """[N, D, P] as points [N, D P] of their own."""
    return world.reshape(len(world), -1)


SCORES: dict[str, Score] = {  # by the names of NEEDS
    "auc": _auc_score,
    "u_lira": _u_lira_score,
    "ruli": _ruli_score,
    "klom": _klom_score,
    "gaussian_kl": _gaussian_score,
    "neurips_score": _neurips_score,
    "jensen_shannon": _jensen_shannon_score,
    "accuracy": _accuracy_score,
    "disagreement": _disagreement_score,
}


class PowerRow(NamedTuple):
    """One point of a power curve."""

    metric: str
    models: int  # a world
    effect: float  # the smallest that is seen, in standard deviations of the mean margin; infinite: none is


def power_table(
    oracles: ArrayLike, counts: Iterable[int], metrics: Iterable[str] = tuple(SCORES), draws: int = 200, key: int = 0
) -> list[PowerRow]:
    """Rows for a table or a figure, from margins [M, P] of oracles on a client's points. Left out: numbers of models
    below what a metric needs, or above half of the oracles.
    """
    (world,) = samples("power", oracles)
    names = list(metrics)
    return [
        PowerRow(name, count, smallest_effect(world, count, SCORES[name], draws, key))
        for count in counts
        for name in names
        if NEEDS[name].least <= count and 2 * count <= len(world)
    ]


def smallest_effect(oracles: ArrayLike, models: int, score: Score, draws: int = 200, key: int = 0) -> float:
    """The smallest shift, in standard deviations of the mean margin, that `score` sees with `models` a world."""
    (world,) = samples("power", oracles)
    one, two = _splits(len(world), models, draws, key)
    unit = float(world.mean(1).std(ddof=1))

    def scores(effect: float) -> Floats:
        chunk = max(1, _AT_ONCE // (models * world.shape[1]))
        parts = [slice(start, start + chunk) for start in range(0, draws, chunk)]
        return np.concatenate([score(world[one[:, part]] + effect * unit, world[two[:, part]]) for part in parts])

    limit = np.quantile(scores(0.0), 1 - LEVEL, method="higher")
    return _smallest(lambda effect: float((scores(effect) > limit).mean()) >= POWER)


def smallest_memory(client: ArrayLike, twin: ArrayLike, models: int, draws: int = 200, key: int = 0) -> float:
    """As `smallest_effect`, of the twin test: the shift of the margins of whoever took part that it finds.

    From margins [M, P] on a client and [M, Q] on its twin, of oracles that saw neither. Memory moves the difference up
    in one world and down in the other.
    """
    own, other = (samples("power", margins)[0].mean(1) for margins in (client, twin))
    difference = (own - other)[:, None]
    seen = smallest_effect(difference, models, SCORES["auc"], draws, key)
    return seen * float(difference.std(ddof=1) / own.std(ddof=1)) / 2


def smallest_damage(clients: ArrayLike, models: int, draws: int = 200, key: int = 0) -> float:
    """As `smallest_effect`, of the worst decile: the shift of all of the remaining clients' mean margins [M, C], in
    standard deviations of their mean.
    """
    return smallest_effect(clients, models, _worst_decile_score, draws, key)


def _splits(oracles: int, models: int, draws: int, key: int) -> tuple[Ints, Ints]:
    """Two disjoint sets of oracles a draw. [models, draws] each"""
    require_models("power", draws)
    if 2 * models > oracles:
        raise TooFewModels(f"the power of {models} models a world needs {2 * models} oracles, and there are {oracles}")
    rows = np.tile(np.arange(oracles), (draws, 1))
    orders = np.random.default_rng([key, models]).permuted(rows, axis=1).T  # [oracles, draws]
    return orders[:models], orders[models : 2 * models]


def _smallest(seen: Callable[[float], bool]) -> float:
    """The smallest effect that is seen, by halving an interval; infinite if none is."""
    low, high = 0.0, 1.0
    while not seen(high):
        low, high = high, 2 * high
        if high > _LARGEST:
            return math.inf
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


def smallest_shift(first: int, second: int, power: float = POWER, level: float = LEVEL) -> float:
    """The shift of a Gaussian statistic, in its standard deviations, that an AUC of N and M models finds, two-sided.

    AUC(k) = Phi(k / sqrt 2), whose variance is that of Hanley and McNeil (1982) with the Gaussian's own second moment.
    """
    edge = float(ndtri(1 - level / 2)) * auc_null_deviation(first, second)

    def missing(shift: float) -> float:
        value, deviation = gaussian_auc(shift, first, second)
        return value - 0.5 - edge - float(ndtri(power)) * deviation

    if missing(_LARGEST) < 0:
        raise TooFewModels(f"an AUC of {first} and {second} models finds no shift, however large; train more seeds")
    return float(brentq(missing, 0.0, _LARGEST))


def gaussian_auc(shift: float, first: int, second: int) -> tuple[float, float]:
    """AUC of two unit Gaussians at a distance, and its standard deviation with N and M models."""
    value = float(ndtr(shift / math.sqrt(2)))
    both = value - 2 * float(owens_t(shift / math.sqrt(2), 1 / math.sqrt(3)))  # P(two of one world above one other)
    variance = value * (1 - value) + (first + second - 2) * (both - value**2)
    return value, math.sqrt(max(0.0, variance) / (first * second))
