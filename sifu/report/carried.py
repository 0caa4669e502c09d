"""The column `forgotten?` of tables of methods: a row's own twin test, else the leaderboard's grade and its source."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from sifu.plan.report_plan import ReportPlan
from sifu.report.forgetting import COLUMN, answers_by_request
from sifu.report.frontier import ITS_OWN
from sifu.report.grades import FORGOTTEN, NOT_FORGOTTEN, TWINS, Grade
from sifu.report.looked_good import places
from sifu.report.results import Results
from sifu.report.standings import Standing, standings
from sifu.report.verdicts import verdicts

CAPTION = (
    "`forgotten?`: by twins, where that was measured (table `forgetting`); else with its source: `no (MNIST, twins)` "
    "is what the twin test of this method says of another request, or in another scenario of the same kind of "
    "training, `yes (exact)` that of answers that are retrained or counted as exact, and `by accuracy: forgotten` the "
    "grade of the leaderboard, over all requests, where accuracy alone speaks for it."
)
TO_TARGET = "forgotten, to the target"  # the column of answers under a budget
_AFTER = ("forget gap", "floor", "floor on forget", "holds for", "promise kept")
_ANSWERS = {FORGOTTEN: "yes", NOT_FORGOTTEN: "no"}
Told = Mapping[tuple[str, str], str]  # by scenario and name of the method


class Carried:
    """What is said of the forgetting of every method of a run, for the tables that have it."""

    def __init__(self, source: Results, rows: list[Standing] | None = None) -> None:
        """`rows`: the standings, where they are known already."""
        self.labels, self.measured = source.plan.labels, source.forgetting
        self.told: Told = {}
        if len(self.measured):
            told = grade_words(source.plan, standings(source) if rows is None else rows)
            self.told = {(scenario, self.labels[variant]): text for (scenario, variant), text in told.items()}

    def by_request(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table of answers to the target, with the twin test of each where there is one."""
        found = answers_by_request(self.measured, self.labels) if len(self.measured) else {}
        keys = table[["scenario", "method", "request"]].itertuples(index=False, name=None)
        return self._with(table, [found.get(key, self.told.get(key[:2], "-")) for key in keys], COLUMN)

    def to_target(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table of answers under a budget: what is said of the same method, recovered to its target."""
        return self._with(table, self._of_methods(table), TO_TARGET)

    def of_own_noise(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table of the frontier: of another sigma than the method's own nothing is known."""
        own = table["sigma"].str.endswith(ITS_OWN)
        words = [text if same else "-" for text, same in zip(self._of_methods(table), own, strict=True)]
        return self._with(table, words, COLUMN)

    def _of_methods(self, table: pd.DataFrame) -> list[str]:
        keys = table[["scenario", "method"]].itertuples(index=False, name=None)
        return [self.told.get(key, "-") for key in keys]

    def _with(self, table: pd.DataFrame, words: list[str], title: str) -> pd.DataFrame:
        """The table with one more column, after what else is said of forgetting; as it is without a twin test."""
        if not self.told or table.empty:
            return table
        place = max((number + 1 for number, name in enumerate(table.columns) if name in _AFTER), default=None)
        table = table.copy()
        table.insert(len(table.columns) if place is None else place, title, words)
        return table


def grade_words(plan: ReportPlan, rows: list[Standing]) -> dict[tuple[str, str], str]:
    """By scenario and variant, the leaderboard's grade in the words of a table, and where it comes from."""
    told = verdicts(plan, rows)
    tests = [(row, places(plan, row, rows)) for row in rows if row.by == TWINS]
    found = {}
    for row in rows:
        own, grade = places(plan, row, rows), told[row[:2]][0]
        same = [test for test, of in tests if test.grade is grade and not own.isdisjoint(of)]
        found[row[:2]] = _words(grade, [plan.titles[test.scenario] for test in same])
    return found


def _words(grade: Grade, tested: list[str]) -> str:
    """`tested`: the scenarios whose twin tests say the same."""
    if tested:
        return f"{_ANSWERS.get(grade, 'cannot tell')} ({'; '.join(dict.fromkeys(tested))})"
    if grade is FORGOTTEN:
        return "yes (exact)"
    return f"by accuracy: {grade.words.partition(',')[0]}"
