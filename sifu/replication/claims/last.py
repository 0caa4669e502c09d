"""Last, SIFU without its roll-back: what is left of a model after so much noise, under time limits and without?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pandas as pd

from sifu.replication.claims.claim import EVERY_DATASET, Line, Measured, Verdict, each_dataset, judged, shown, unjudged
from sifu.replication.claims.tables import DATASETS, REFERENCE, Tables

SHORT = 0.1  # of accuracy on those who stay, below scratch's: up to here well
WELL, BADLY = 0.9, 0.1  # of the requests
STANDS = ("mnist", "celeba")
BREAKS = ("cifar10", "cifar100")
LIMITS_WORDS = (
    "Accuracy on those who stay, of scratch at the target minus of Last under the time limits, the mean over limits "
    f"and requests. Doing well: the interval lies at or below {SHORT:g}; failing: it lies above. MNIST and CelebA hold "
    "where Last does well, CIFAR where it fails; the contrary does not hold, between is in part. FashionMNIST is not "
    "spoken of, and not judged. Holds: on all four. Does not hold: where it fails on all that could be judged. In "
    "part: otherwise. Seeds in which scratch did not reach the target do not count."
)
TARGET_WORDS = (
    f"A dataset holds where at most {BADLY:.0%} of the requests recover to the target, does not where at least "
    f"{WELL:.0%} do, and is in part between. {EVERY_DATASET} Seeds in which scratch did not get there do not "
    "count. A later request starts from what the one before has left, even if that has diverged. A recovery is given "
    "up after the most rounds (above), which are fewer than the paper's: with more of them more might get there."
)


def does_well(value: Measured) -> Verdict:
    if value.high <= SHORT:
        return Verdict.HOLDS
    return Verdict.FAILS if value.low > SHORT else Verdict.IN_PART


def breaks(value: Measured) -> Verdict:
    opposite = {Verdict.HOLDS: Verdict.FAILS, Verdict.FAILS: Verdict.HOLDS}
    return opposite.get(does_well(value), Verdict.IN_PART)


def never_recovers(value: Measured) -> Verdict:
    if value.mean <= BADLY:
        return Verdict.HOLDS
    return Verdict.FAILS if value.mean >= WELL else Verdict.IN_PART


def under_limits(tables: Tables) -> list[Line]:
    """How far below scratch's Last's accuracy stays; beside it, how often it recovers when it has the time."""
    what = "accuracy of Last on those who stay, below scratch's"
    lines = each_dataset(what, _short(tables), does_well, "number", lambda name: tables.ran(name, "last"))
    return [*(_as_claimed(line) for line in lines), *unjudged(_recoveries(tables)), *_diverging(tables)]


def to_the_target(tables: Tables) -> list[Line]:
    """How often Last recovers, judged; beside it how often it diverges, which is no local optimum."""
    return [*_recoveries(tables), *_diverging(tables)]


def _diverging(tables: Tables) -> list[Line]:
    def diverged(scenario: str) -> pd.Series:
        return _where_scratch_did(tables, scenario, tables.ended(scenario, "last", "diverged"))

    return shown("requests after which Last diverges", diverged)


def _recoveries(tables: Tables) -> list[Line]:
    """The share of requests after which Last reached the target, where scratch did."""

    def recovered(scenario: str) -> pd.Series:
        return _where_scratch_did(tables, scenario, tables.ended(scenario, "last", "done"))

    what = "requests after which Last recovers to the target"
    return each_dataset(what, recovered, never_recovers, ran=lambda name: tables.ran(name, "last"))


def _short(tables: Tables) -> Callable[[str], pd.Series]:
    def short(scenario: str) -> pd.Series:
        limits = [tables.values(scenario, "last", "accuracy", "retain", stop) for stop in tables.budgets(scenario)]
        if not limits:
            return pd.Series(dtype=float)
        own = pd.concat(limits, axis=1).dropna().mean(axis=1)
        difference = (tables.values(scenario, REFERENCE, "accuracy", "retain") - own).dropna()
        return _where_scratch_did(tables, scenario, difference)

    return short


def _where_scratch_did(tables: Tables, scenario: str, values: pd.Series) -> pd.Series:
    return values[values.index.isin(tables.finished(scenario, REFERENCE))]


def _as_claimed(line: Line) -> Line:
    if line.scenario in BREAKS:
        return replace(line, verdict=judged(line.value, line.ran, breaks))
    spoken_of = line.scenario in (*STANDS, *BREAKS) or line.scenario not in DATASETS
    return line if spoken_of else replace(line, verdict=None)
