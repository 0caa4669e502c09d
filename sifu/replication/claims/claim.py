"""A claim: its sentence, its place in the paper, how it is measured, and by which rule it is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import pandas as pd

from sifu.replication.claims.measured import Measured
from sifu.replication.claims.stored_tables import DATASETS, EXAMPLE, SHOWN_ONLY, StoredTables
from sifu.replication.claims.verdict import NO_TEST, PValues, Rule, Verdict

COST_SECTION = "appendix, section Experiments (cost to the target)"
RESULTS_SECTION = "section Experimental Results (time limits)"
NOT_IN_PAPER = "not in the paper"


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
    p: PValues = NO_TEST  # of what the rule tests

    @property
    def counts(self) -> bool:
        """Whether the claim is judged by it."""
        return self.verdict is not None and self.scenario in (*DATASETS, EXAMPLE)


Measure = Callable[[StoredTables], list[Line]]
Combine = Callable[[list[Line]], Verdict]


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, or a question that the paper leaves open, and how it is checked."""

    name: str
    number: str  # the paper's number, in short
    quote: str  # the paper's words, or ours where the paper is silent
    place: str  # where in the paper
    measure: Measure
    rule: str  # the rule in words, with its thresholds
    judge: Combine
    command: str  # runs again a cell that it is measured on
    test: Callable[[list[Line]], PValues] | None = None  # None: all judged datasets have to show it
    by_average: bool = False  # judged by the average over datasets; what holds on each of them comes after it

    def of_average(self, lines: list[Line]) -> Verdict | None:
        """What the averages say by themselves, whatever is missing; None: it is judged by its datasets."""
        return self.judge([line for line in lines if line.scenario == ""]) if self.by_average else None

    def p_values(self, lines: list[Line]) -> PValues:
        """The p-values of the claim as a whole."""
        return (self.test or p_on_every_dataset)(lines)


def on_first_request(measure: Measure) -> Measure:
    """The same of the first request alone, as the paper's figures on time limits and on sigma have it."""
    return lambda tables: measure(tables.first_request)


def each_dataset(
    what: str,
    values: Callable[[str], pd.Series],
    rule: Rule,
    unit: str = "share",
    ran: Callable[[str], int] = lambda _: 0,
    measure: Callable[[pd.Series], Measured | None] = Measured.of,
) -> list[Line]:
    """A line for each of the paper's datasets, judged, and for each scenario that is only shown.

    `ran`: how many seeds of a scenario were run, with a value or without; `measure`: `Measured.share` where every value
    is 0 or 1.
    """
    lines = []
    for scenario in (*DATASETS, *SHOWN_ONLY):
        value, seeds = measure(values(scenario)), ran(scenario)
        line = Line(scenario, what, value, None, unit, seeds)
        lines.append(line if scenario in SHOWN_ONLY else with_verdict(line, rule))
    return lines


def with_verdict(line: Line, rule: Rule) -> Line:
    """The line, judged, with the p-values of what the rule tests."""
    p = rule.p_values(line.value) if line.value is not None else NO_TEST
    return replace(line, verdict=judged(line.value, line.ran, rule), p=p)


def shown(
    what: str,
    values: Callable[[str], pd.Series],
    unit: str = "share",
    measure: Callable[[pd.Series], Measured | None] = Measured.of,
) -> list[Line]:
    """A line for each scenario that has a number, not judged."""
    measured = {scenario: measure(values(scenario)) for scenario in (*DATASETS, *SHOWN_ONLY)}
    return [Line(scenario, what, value, None, unit) for scenario, value in measured.items() if value is not None]


def judged(value: Measured | None, ran: int, rule: Rule) -> Verdict:
    """The verdict on one dataset: by `rule`, and by how many of the seeds that were run have a value."""
    if value is None:
        return Verdict.NOT_TESTABLE if ran else Verdict.NOT_RUN
    if 2 * value.seeds < ran:
        return Verdict.NOT_TESTABLE
    verdict = rule.verdict(value)
    return Verdict.IN_PART if verdict is Verdict.HOLDS and value.seeds < ran else verdict


def ran_all(tables: StoredTables, scenario: str, variants: Iterable[str]) -> int:
    """How many seeds should have a value that needs all `variants`: as many as any has, none where one was not run."""
    counts = [tables.ran(scenario, variant) for variant in variants]
    return max(counts) if all(counts) else 0


def average(lines: Iterable[Line], what: str, values: Callable[[str], pd.Series], unit: str = "share") -> Line:
    """The mean over the datasets that can be judged, each with all seeds that it has."""
    parts = {line.scenario: line for line in lines if line.scenario in DATASETS and _usable(line)}
    fewest = min(parts.values(), key=lambda line: line.value.seeds if line.value else 0, default=None)
    value = Measured.of_datasets([values(scenario) for scenario in parts])
    return Line("", what, value, None, unit, fewest.ran if fewest else 0)


def average_line(lines: Iterable[Line]) -> Line | None:
    """The first line that is an average over datasets."""
    return next((line for line in lines if line.scenario == ""), None)


def _usable(line: Line) -> bool:
    return line.value is not None and line.verdict is not Verdict.NOT_TESTABLE


def something_missing(lines: Iterable[Line]) -> bool:
    """Whether a dataset, or a seed of one, is missing from what a claim is judged by."""
    return any(missing(lines))


def missing(lines: Iterable[Line]) -> tuple[list[str], list[str]]:
    """The datasets that are missing from what a claim is judged by, and those of which seeds are."""
    counted = [line for line in lines if line.counts]
    whole = [line.scenario for line in counted if not _usable(line)]
    seeds = [line.scenario for line in counted if line.value is not None and line.value.seeds < line.ran]
    return whole, [name for name in seeds if name not in whole]


def whatever_is_undecided(judge: Combine) -> Combine:
    """The same verdict where it does not depend on the undecided datasets, else undecided.

    They are taken to hold, to hold in part, and not to hold, all of them each time: other cases lie between these.
    """

    def judge_lines(lines: list[Line]) -> Verdict:
        cases = (Verdict.HOLDS, Verdict.IN_PART, Verdict.FAILS)
        found = {judge([_settled(line, case) for line in lines]) for case in cases}
        return found.pop() if len(found) == 1 else Verdict.UNDECIDED

    return judge_lines


def _settled(line: Line, verdict: Verdict) -> Line:
    return replace(line, verdict=verdict) if line.verdict is Verdict.UNDECIDED else line


@whatever_is_undecided
def on_every_dataset(lines: list[Line]) -> Verdict:
    """Holds if it holds on all datasets, does not hold if it fails on all that can be judged, else in part."""
    verdicts = {line.verdict for line in lines if line.counts}
    known = verdicts - {Verdict.NOT_RUN, Verdict.NOT_TESTABLE}
    if not known:
        return Verdict.NOT_TESTABLE
    if known == {Verdict.FAILS}:
        return Verdict.FAILS
    return Verdict.HOLDS if verdicts == {Verdict.HOLDS} else Verdict.IN_PART


def p_on_every_dataset(lines: list[Line]) -> PValues:
    """All datasets that could be judged have to show it, so the largest p counts; none where one has no p."""
    counted = [line for line in lines if line.counts and _usable(line)]
    return PValues(_largest([line.p.holds for line in counted]), _largest([line.p.fails for line in counted]))


def _largest(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None


def unjudged(lines: Iterable[Line]) -> list[Line]:
    """The lines with a number, without their verdicts."""
    return [replace(line, verdict=None) for line in lines if line.value is not None]


def on_average(rule: Rule) -> Combine:
    """Judged by the average over datasets, by both of its intervals; at best in part where a dataset, or a seed of one,
    is missing.
    """

    def judge_lines(lines: list[Line]) -> Verdict:
        line = average_line(lines)
        if line is None or line.value is None:
            return Verdict.NOT_TESTABLE
        verdict = rule.verdict(line.value)
        return Verdict.IN_PART if verdict is Verdict.HOLDS and something_missing(lines) else verdict

    return judge_lines


def p_on_average(rule: Rule) -> Callable[[list[Line]], PValues]:
    """The p-values of the average over datasets."""

    def test(lines: list[Line]) -> PValues:
        line = average_line(lines)
        return rule.p_values(line.value) if line is not None and line.value is not None else NO_TEST

    return test
