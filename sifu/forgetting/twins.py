"""Was I forgotten? The test by exchangeable twins: memory of a client, whatever else is odd about the model.

A client c and its twin t are drawn from the same distribution. World 1: the federation with c is trained and unlearns
c. World 0: t sits in c's seat, and t is unlearned. The same procedure runs in both, so that a general shift of the
model cancels. The statistic is the margin on c's data minus the margin on t's, the same in both worlds; it is larger in
world 1 as far as c (in world 1) or t (in world 0) is remembered. No shadow models are fitted. AUC 0.5: nothing is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sifu.forgetting.auc import auc, auc_null_deviation
from sifu.forgetting.bootstrap import RESAMPLES, interval
from sifu.forgetting.sample import Floats, Ints, enough_models, samples

NOTHING, UNSURE, LITTLE, SOMETHING = "nothing to forget", "too few models to see it", "little to forget", ""
_DEVIATIONS = 3.0  # of the null: an original closer to 0.5 is at its null
_UPPER, _NOTHING = 2.0, 0.6  # deviations to the upper limit of an original's AUC; below this limit it knew nothing
_LITTLE = 0.7  # an original below this AUC knew little of its client


@dataclass(frozen=True)
class TwinTest:
    """AUC of the differences of twins, of each client and of all together, with its null."""

    auc: Floats  # [C]
    pooled: float  # of the sum over clients
    shift: Floats  # [C] difference of means in standard deviations: goes on growing where AUC is 1
    null_deviation: float
    models: tuple[int, int]
    enough: bool

    @property
    def deviations(self) -> Floats:
        """AUC - 0.5 in standard deviations of the null. [C]"""
        return (self.auc - 0.5) / self.null_deviation


@dataclass(frozen=True)
class Share:
    """The share of the original's memory that is gone: 1 - (AUC - 0.5) / (AUC of the original - 0.5)."""

    value: float  # NaN where the original is at its null; above 1 where the sign turned
    low: float
    high: float
    note: str  # NOTHING, UNSURE, LITTLE or SOMETHING


def twin_test(with_client: ArrayLike, with_twin: ArrayLike) -> TwinTest:
    """The test of differences [N, C] of models that unlearned the client, and [M, C] of those that unlearned its twin.

    Of models that unlearned nothing, the test says how much there was to forget.
    """
    one, two = samples("twins", _columns(with_client), _columns(with_twin))
    counts = len(one), len(two)
    spread = np.sqrt((one.var(0, ddof=1) + two.var(0, ddof=1)) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.nan_to_num((one.mean(0) - two.mean(0)) / spread, nan=0.0, posinf=np.inf, neginf=-np.inf)
    pooled = float(auc(one.sum(1), two.sum(1)))
    return TwinTest(auc(one, two), pooled, shift, auc_null_deviation(*counts), counts, enough_models("twins", *counts))


def share_forgotten(
    unlearned: tuple[ArrayLike, ArrayLike],
    original: tuple[ArrayLike, ArrayLike],
    seeds: tuple[ArrayLike, ArrayLike],
    resamples: int = RESAMPLES,
) -> Share:
    """How much of the original's memory is gone, with its bootstrap interval over seeds.

    Each pair: differences of the models with the client and of those with its twin, [N] and [M] (of several clients:
    their sum). A seed is drawn again with all of its models: the unlearned one comes from the original, and the
    two worlds may have the same seeds.
    """
    worlds = samples("twins", *unlearned, *original)
    rows = [np.argsort(np.asarray(own)) for own in seeds]
    sorted_worlds = [world[rows[place % 2]] for place, world in enumerate(worlds)]
    found = _auc(*sorted_worlds[:2]), _auc(*sorted_worlds[2:])
    note = _note(found[1], auc_null_deviation(len(rows[0]), len(rows[1])))
    if note in (NOTHING, UNSURE):
        return Share(np.nan, -np.inf, np.inf, note)
    random = np.random.default_rng(0)
    coupled = np.array_equal(np.sort(np.asarray(seeds[0])), np.sort(np.asarray(seeds[1])))
    shares = np.array([_resampled(sorted_worlds, random, coupled) for _ in range(resamples)])
    return Share(_share(*found), *interval(shares), note)


def _note(original: float, deviation: float) -> str:
    """What the original knew. An AUC at its null is no proof that it knew nothing: its upper limit must be low, too."""
    away = (original - 0.5) / deviation
    if away >= _DEVIATIONS:
        return LITTLE if original < _LITTLE else SOMETHING
    low = original + _UPPER * deviation < _NOTHING and away > -_DEVIATIONS
    return NOTHING if low else UNSURE


def _resampled(worlds: list[Floats], random: np.random.Generator, coupled: bool) -> float:
    """The share of one resample of the seeds; [N], [M] unlearned, [N], [M] original. `coupled`: the same of both."""
    draws: list[Ints] = [random.integers(len(world), size=len(world)) for world in worlds[:2]]
    draws[1] = draws[0] if coupled else draws[1]
    first, second, third, fourth = (world[draws[place % 2]] for place, world in enumerate(worlds))
    return _share(_auc(first, second), _auc(third, fourth))


def _share(unlearned: float, original: float) -> float:
    return 1 - (unlearned - 0.5) / (original - 0.5) if original > 0.5 else np.nan


def _auc(first: Floats, second: Floats) -> float:
    """As `auc` of one column, for many resamples: places of one sample in the other, sorted."""
    others = np.sort(second)
    below = np.searchsorted(others, first, "left") + np.searchsorted(others, first, "right")
    return float(below.sum()) / (2 * len(first) * len(second))


def _columns(world: ArrayLike) -> Floats:
    """[N] as one column."""
    values = np.asarray(world, np.float64)
    return values[:, None] if values.ndim == 1 else values
