"""A claim: what is said, where, how it is measured, and by which rule it is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import pandas as pd

from sifu.replication.claims.tables import BESIDE, DATASETS, Tables
from sifu.report.statistics import bootstrap_intervals


class Verdict(Enum):
    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    NOT_TESTABLE = "not testable"  # also of a dataset that was run, where nothing got far enough to be measured
    NOT_RUN = "not run"  # of one dataset; never of a claim


@dataclass(frozen=True)
class Measured:
    """A mean over seeds and its 95% bootstrap interval."""

    mean: float
    low: float
    high: float
    seeds: int

    @staticmethod
    def of(values: pd.Series) -> Measured | None:
        """None without a seed."""
        numbers = values.dropna().to_numpy(np.float64)
        if not len(numbers):
            return None
        ((low, high),) = bootstrap_intervals([numbers])
        return Measured(float(numbers.mean()), low, high, len(numbers))


@dataclass(frozen=True)
class Line:
    """One measured number of a claim: of a scenario, or (`scenario` is empty) of all the paper's datasets."""

    scenario: str
    what: str
    value: Measured | None  # None: not run, or nothing to measure
    verdict: Verdict | None = None  # None: shown beside, not judged
    unit: str = "share"  # how it is written: share | number | times
    ran: int = 0  # seeds that were run, of which some may not have got far enough to be measured

    @property
    def counts(self) -> bool:
        """Whether the claim is judged by it."""
        return self.verdict is not None and self.scenario in DATASETS


Measure = Callable[[Tables], list[Line]]
Rule = Callable[[Measured], Verdict]


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, or one that nobody checked, beside what is measured."""

    name: str
    number: str  # what the paper says, in short
    words: str  # the paper's own, or ours where the paper is silent
    place: str  # in the paper
    measure: Measure
    rule: str  # in words, with its thresholds
    judge: Callable[[list[Line]], Verdict]
    again: str  # the command that repeats a cell behind it


EVERY_DATASET = (
    "Holds: on all five datasets. Does not hold: where it fails on all that could be judged. Not testable: where none "
    "could be. In part: otherwise, also where one is missing."
)
SOME_SEEDS = (
    "A dataset where a seed did not get there holds in part at best, and cannot be judged where fewer than half did."
)


def each_dataset(
    what: str,
    values: Callable[[str], pd.Series],
    rule: Rule,
    unit: str = "share",
    ran: Callable[[str], int] = lambda _: 0,
) -> list[Line]:
    """A line for every dataset of the paper, judged by `rule`, and for those that stand beside them, not judged.

    `ran` says how many seeds of a scenario were run, whether they have a value or not.
    """
    lines = []
    for scenario in (*DATASETS, *BESIDE):
        value, seeds = Measured.of(values(scenario)), ran(scenario)
        verdict = None if scenario in BESIDE else judged(value, seeds, rule)
        lines.append(Line(scenario, what, value, verdict, unit, seeds))
    return lines


def shown(what: str, values: Callable[[str], pd.Series], unit: str = "share") -> list[Line]:
    """A line for every scenario that has a number, to stand beside those that are judged."""
    found = {scenario: Measured.of(values(scenario)) for scenario in (*DATASETS, *BESIDE)}
    return [Line(scenario, what, value, None, unit) for scenario, value in found.items() if value is not None]


def judged(value: Measured | None, ran: int, rule: Rule) -> Verdict:
    """By `rule`, and by how many of the seeds that were run have a value."""
    if value is None:
        return Verdict.NOT_TESTABLE if ran else Verdict.NOT_RUN
    if 2 * value.seeds < ran:
        return Verdict.NOT_TESTABLE
    verdict = rule(value)
    return Verdict.IN_PART if verdict is Verdict.HOLDS and value.seeds < ran else verdict


def average(lines: Iterable[Line], what: str, values: Callable[[str], pd.Series], unit: str = "share") -> Line:
    """The mean over the datasets that can be judged, seed by seed; seeds that one of them lacks are left out."""
    run = {line.scenario: line.ran for line in lines if line.scenario in DATASETS and _usable(line)}
    table = pd.DataFrame({scenario: values(scenario) for scenario in run}).dropna()
    value = Measured.of(table.mean(axis=1)) if run else None
    return Line("", what, value, None, unit, max(run.values(), default=0))


def _usable(line: Line) -> bool:
    return line.value is not None and line.verdict is not Verdict.NOT_TESTABLE


def something_missing(lines: Iterable[Line]) -> bool:
    """Whether a dataset, or a seed of one, is left out of what a claim is judged by."""
    counted = [line for line in lines if line.counts]
    return any(not _usable(line) or (line.value is not None and line.value.seeds < line.ran) for line in counted)


def all_of(lines: list[Line]) -> Verdict:
    """As EVERY_DATASET says."""
    found = {line.verdict for line in lines if line.counts}
    run = found - {Verdict.NOT_RUN, Verdict.NOT_TESTABLE}
    if not run:
        return Verdict.NOT_TESTABLE
    if run == {Verdict.FAILS}:
        return Verdict.FAILS
    return Verdict.HOLDS if found == {Verdict.HOLDS} else Verdict.IN_PART


def unjudged(lines: Iterable[Line]) -> list[Line]:
    """Those with a number, to stand beside those that are judged."""
    return [replace(line, verdict=None) for line in lines if line.value is not None]


def on_average(rule: Rule) -> Callable[[list[Line]], Verdict]:
    """Judged by the line of all datasets; at best in part where one of them was not run, or not in every seed."""

    def judge(lines: list[Line]) -> Verdict:
        whole = next((line.value for line in lines if line.scenario == ""), None)
        if whole is None:
            return Verdict.NOT_TESTABLE
        verdict = rule(whole)
        return Verdict.IN_PART if verdict is Verdict.HOLDS and something_missing(lines) else verdict

    return judge
