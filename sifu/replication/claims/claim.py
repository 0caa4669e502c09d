"""A claim: its sentence, its place in the paper, how it is measured, and by which rule it is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import pandas as pd

from sifu.replication.claims.stored_tables import DATASETS, SHOWN_ONLY, StoredTables
from sifu.report.statistics import bootstrap_intervals

COST_SECTION = "appendix, section Experiments (cost to the target)"
RESULTS_SECTION = "section Experimental Results (time limits)"
NOT_IN_PAPER = "not in the paper"


class Verdict(Enum):
    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    NOT_TESTABLE = "not testable"  # also of a dataset that was run, but has nothing to measure
    NOT_RUN = "not run"  # of a dataset, never of a claim


@dataclass(frozen=True)
class Measured:
    """A mean over seeds and its 95% bootstrap interval."""

    mean: float
    low: float
    high: float
    seeds: int

    @staticmethod
    def of(values: pd.Series) -> Measured | None:
        """The mean and interval of one value a seed; None without a seed."""
        numbers = values.dropna().to_numpy(np.float64)
        if not len(numbers):
            return None
        ((low, high),) = bootstrap_intervals([numbers])
        return Measured(float(numbers.mean()), low, high, len(numbers))


@dataclass(frozen=True)
class Line:
    """One measured number of a claim: on one scenario, or (`scenario` is empty) the average of the paper's datasets."""

    scenario: str
    what: str
    value: Measured | None  # None: not run, or nothing to measure
    verdict: Verdict | None = None  # None: shown, not judged
    unit: str = "share"  # how it is written: share | number | times
    ran: int = 0  # seeds that were run; some of them may have no value
    note: str = ""  # what is particular to this scenario, such as the best sigma

    @property
    def counts(self) -> bool:
        """Whether the claim is judged by it."""
        return self.verdict is not None and self.scenario in DATASETS


Measure = Callable[[StoredTables], list[Line]]
Judge = Callable[[Measured], Verdict]


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, or a question that the paper leaves open, and how it is checked."""

    name: str
    number: str  # the paper's number, in short
    quote: str  # the paper's words, or ours where the paper is silent
    place: str  # where in the paper
    measure: Measure
    rule: str  # the rule in words, with its thresholds
    judge: Callable[[list[Line]], Verdict]
    command: str  # runs again a cell that it is measured on


def on_first_request(measure: Measure) -> Measure:
    """The same of the first request alone, as the paper's figures on time limits and on sigma have it."""
    return lambda tables: measure(tables.first_request)


def each_dataset(
    what: str,
    values: Callable[[str], pd.Series],
    judge: Judge,
    unit: str = "share",
    ran: Callable[[str], int] = lambda _: 0,
) -> list[Line]:
    """A line for each of the paper's datasets, judged, and for each scenario that is only shown.

    `ran`: how many seeds of a scenario were run, with a value or without.
    """
    lines = []
    for scenario in (*DATASETS, *SHOWN_ONLY):
        value, seeds = Measured.of(values(scenario)), ran(scenario)
        verdict = None if scenario in SHOWN_ONLY else judged(value, seeds, judge)
        lines.append(Line(scenario, what, value, verdict, unit, seeds))
    return lines


def shown(what: str, values: Callable[[str], pd.Series], unit: str = "share") -> list[Line]:
    """A line for each scenario that has a number, not judged."""
    measured = {scenario: Measured.of(values(scenario)) for scenario in (*DATASETS, *SHOWN_ONLY)}
    return [Line(scenario, what, value, None, unit) for scenario, value in measured.items() if value is not None]


def judged(value: Measured | None, ran: int, judge: Judge) -> Verdict:
    """The verdict on one dataset: by `judge`, and by how many of the seeds that were run have a value."""
    if value is None:
        return Verdict.NOT_TESTABLE if ran else Verdict.NOT_RUN
    if 2 * value.seeds < ran:
        return Verdict.NOT_TESTABLE
    verdict = judge(value)
    return Verdict.IN_PART if verdict is Verdict.HOLDS and value.seeds < ran else verdict


def average(lines: Iterable[Line], what: str, values: Callable[[str], pd.Series], unit: str = "share") -> Line:
    """The mean over the datasets that can be judged, seed by seed, over the seeds that all of them have."""
    seeds_run = {line.scenario: line.ran for line in lines if line.scenario in DATASETS and _usable(line)}
    table = pd.DataFrame({scenario: values(scenario) for scenario in seeds_run}).dropna()
    value = Measured.of(table.mean(axis=1)) if seeds_run else None
    return Line("", what, value, None, unit, max(seeds_run.values(), default=0))


def average_line(lines: Iterable[Line]) -> Line | None:
    """The first line that is an average over datasets."""
    return next((line for line in lines if line.scenario == ""), None)


def _usable(line: Line) -> bool:
    return line.value is not None and line.verdict is not Verdict.NOT_TESTABLE


def something_missing(lines: Iterable[Line]) -> bool:
    """Whether a dataset, or a seed of one, is missing from what a claim is judged by."""
    counted = [line for line in lines if line.counts]
    return any(not _usable(line) or (line.value is not None and line.value.seeds < line.ran) for line in counted)


def on_every_dataset(lines: list[Line]) -> Verdict:
    """Holds if it holds on all datasets, does not hold if it fails on all that can be judged, else in part."""
    verdicts = {line.verdict for line in lines if line.counts}
    known = verdicts - {Verdict.NOT_RUN, Verdict.NOT_TESTABLE}
    if not known:
        return Verdict.NOT_TESTABLE
    if known == {Verdict.FAILS}:
        return Verdict.FAILS
    return Verdict.HOLDS if verdicts == {Verdict.HOLDS} else Verdict.IN_PART


def unjudged(lines: Iterable[Line]) -> list[Line]:
    """The lines with a number, without their verdicts."""
    return [replace(line, verdict=None) for line in lines if line.value is not None]


def on_average(judge: Judge) -> Callable[[list[Line]], Verdict]:
    """Judged by the average over datasets; at best in part where a dataset, or a seed of one, is missing."""

    def judge_lines(lines: list[Line]) -> Verdict:
        line = average_line(lines)
        if line is None or line.value is None:
            return Verdict.NOT_TESTABLE
        verdict = judge(line.value)
        return Verdict.IN_PART if verdict is Verdict.HOLDS and something_missing(lines) else verdict

    return judge_lines
