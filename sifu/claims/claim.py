"""A claim: what is said, where, how it is measured, and by which rule it is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pandas as pd

from sifu.claims.tables import BESIDE, DATASETS, Tables
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


def each_dataset(
    what: str,
    values: Callable[[str], pd.Series],
    rule: Rule,
    unit: str = "share",
    ran: Callable[[str], bool] = lambda _: False,
) -> list[Line]:
    """A line for every dataset of the paper, judged by `rule`, and for those that stand beside them, not judged.

    `ran` says of a scenario without a value whether it was run all the same.
    """
    lines = []
    for scenario in (*DATASETS, *BESIDE):
        value = Measured.of(values(scenario))
        without = Verdict.NOT_TESTABLE if ran(scenario) else Verdict.NOT_RUN
        verdict = without if value is None else rule(value)
        lines.append(Line(scenario, what, value, None if scenario in BESIDE else verdict, unit))
    return lines


def average(lines: Iterable[Line], what: str, values: Callable[[str], pd.Series], unit: str = "share") -> Line:
    """The mean over the datasets that were run, seed by seed; seeds that one of them lacks are left out."""
    run = [line.scenario for line in lines if line.counts and line.value is not None]
    table = pd.DataFrame({scenario: values(scenario) for scenario in run}).dropna()
    return Line("", what, Measured.of(table.mean(axis=1)) if run else None, None, unit)


def all_of(lines: list[Line]) -> Verdict:
    """Holds where it holds on every dataset of the paper; in part where on some, or where some were not run."""
    found = {line.verdict for line in lines if line.counts}
    run = found - {Verdict.NOT_RUN, Verdict.NOT_TESTABLE}
    if not run:
        return Verdict.NOT_TESTABLE
    if run == {Verdict.FAILS}:
        return Verdict.FAILS
    return Verdict.HOLDS if found == {Verdict.HOLDS} else Verdict.IN_PART


def on_average(rule: Rule) -> Callable[[list[Line]], Verdict]:
    """Judged by the line of all datasets; at best in part where one of them was not run."""

    def judge(lines: list[Line]) -> Verdict:
        whole = next((line.value for line in lines if line.scenario == ""), None)
        if whole is None:
            return Verdict.NOT_TESTABLE
        verdict, partial = rule(whole), any(line.counts and line.value is None for line in lines)
        return Verdict.IN_PART if partial and verdict is Verdict.HOLDS else verdict

    return judge
