"""Where each method stands: cost, forgetting, utility and certificate over all requests, a row a scenario and method.

The picture, the findings and the leaderboard are made of the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from typing import Any, NamedTuple, Protocol

import pandas as pd

from sifu.plan.report_plan import ReportPlan
from sifu.report.frontier import frontier
from sifu.report.grades import ACCURACY, TWINS, UNKNOWN, Grade, grade, twin_grades
from sifu.report.results import Results
from sifu.report.statistics import REFERENCE
from sifu.report.totals import request_totals

TRAIN_AGAIN = ("scratch", "scratch_again", "blurred_scratch")  # methods that others are compared with: all exact
ORIGINAL = "original"  # the model before any request: it has no cost, and has forgotten nothing
EXACT, KEPT, FOR_ONE, BROKEN, UNCOUNTED = "exact", "kept", "one client", "broken", "not counted"
_PROMISES = {"request": KEPT, "measured": KEPT, "client": FOR_ONE, "none": BROKEN, "unknown": UNCOUNTED}
_FROM_ALL = " from all requests"
_UTILITY = ("test", "retain")  # subsets of the accuracy, the first that was measured


class Certificate(NamedTuple):
    """What a method promises, and whether that survives in every seed and request."""

    epsilon: float
    delta: float
    worth: str  # exact | kept (for all clients of a request) | one client (each alone) | broken | not counted


class Standing(NamedTuple):
    """One method in one scenario. Numbers are means over seeds; nan where there is none."""

    scenario: str
    variant: str
    seeds: int
    compared: int  # seeds in which the method and scratch reached the target after every request
    words: str  # why there is no cost; empty where there is one
    cost: float  # client steps of all requests over scratch's
    gap: float  # accuracy on the forgotten clients minus scratch's
    floor: float  # of the gap: that of scratch, run again
    grade: Grade
    by: str  # twins | accuracy
    by_accuracy: Grade  # the grade by accuracy, also where twins decide
    utility: float  # accuracy on test data, or on the remaining clients'
    utility_gap: float  # the same minus scratch's
    subset: str  # test | retain
    certificate: Certificate | None  # None: nothing is promised

    @property
    def has_cost(self) -> bool:
        return not self.words

    @property
    def in_all_seeds(self) -> bool:
        """Whether its cost is that of all seeds: what diverges in some is no winner."""
        return self.has_cost and self.compared == self.seeds

    @property
    def short_words(self) -> str:
        """The same words where there is little room; no seed of none is easily read as never."""
        if self.words.startswith(f"recovers{_FROM_ALL} in 0 "):
            return "only some requests"
        return self.words.replace(_FROM_ALL, "")


def main_scenarios(plan: ReportPlan, names: list[str] | None = None) -> list[str]:
    """Of some scenarios (all without marks) the first on each dataset: others vary what was shown already."""
    chosen = list(plan.unmarked) if names is None else names
    first: dict[str, str] = {}
    for name in chosen:
        first.setdefault(plan.datasets.get(name, name), name)
    return list(first.values())


def datasets_first(plan: ReportPlan, names: list[str]) -> list[str]:
    """Some scenarios, in the order in which a figure with little room takes them: a scenario a dataset first."""
    main = main_scenarios(plan, names)
    return [*main, *(name for name in names if name not in main)]


def without_uncounted(plan: ReportPlan, rows: list[Standing]) -> list[Standing]:
    """The rows without the certificates that nobody planned to count: another scenario of the run counts them."""
    return [row._replace(certificate=None) if _unplanned(plan, row) else row for row in rows]


def _unplanned(plan: ReportPlan, row: Standing) -> bool:
    """An accountant may have counted a certificate all the same."""
    return row.scenario in plan.uncounted and row.certificate is not None and row.certificate.worth == UNCOUNTED


class Tables(Protocol):
    """The tables that methods are judged by."""

    @property
    def cells(self) -> pd.DataFrame: ...
    @property
    def metrics(self) -> pd.DataFrame: ...
    @property
    def forgetting(self) -> pd.DataFrame: ...
    @property
    def refuted(self) -> Collection[str]: ...


def standings(source: Results) -> list[Standing]:
    """Every method that was run in every scenario, in the order of the plan; not the model before any request."""
    return standings_of(source.plan, source)


def standings_of(plan: ReportPlan, tables: Tables) -> list[Standing]:
    """The same of tables that lie elsewhere."""
    totals = request_totals(tables.cells, tables.metrics).to_dict("records")
    found = {(row["scenario"], row["variant"]): row for row in totals}
    twins, useful = twin_grades(tables.forgetting), _utility(tables.metrics)
    promises = _certificates(tables, plan.methods)
    expected = expected_gaps(tables.metrics)
    rows = []
    for scenario in plan.titles:
        original = found.get((scenario, ORIGINAL), {}).get("gap_of_all", expected.get(scenario, -math.inf))
        for variant in plan.labels:
            key = (scenario, variant)
            if key in found and plan.methods[variant] != ORIGINAL:
                by_accuracy = grade(found[key]["gap"], original) if _compared(found[key]) else UNKNOWN
                rows.append(_standing(found[key], by_accuracy, twins.get(key), useful, promises.get(key)))
    return rows


def expected_gaps(metrics: pd.DataFrame) -> dict[Hashable, float]:
    """By scenario, the gap of a model that forgot nobody, where it was not run: it is as accurate on all its clients as
    scratch is on those that remain.
    """
    rows = metrics[(metrics["stop"] == "target") & (metrics["metric"] == "accuracy")]
    rows = rows[rows["variant"] == REFERENCE]
    means = rows.groupby(["scenario", "subset"])["value"].mean().unstack()
    found: dict[Hashable, float] = {}
    if {"retain", "forgotten"} <= set(means):
        found = (means["retain"] - means["forgotten"]).dropna().to_dict()
    return found


def _compared(row: dict[Hashable, Any]) -> bool:
    """Whether most seeds can be compared with scratch's: one that recovered says nothing about the others."""
    return 2 * row["compared"] >= row["seeds"]


def _standing(
    row: dict[Hashable, Any],
    by_accuracy: Grade,
    by_twins: Grade | None,
    useful: dict[Hashable, Any],
    promise: Certificate | None,
) -> Standing:
    scenario, variant = row["scenario"], row["variant"]
    own, scratch = (useful.get((scenario, name), (math.nan, "")) for name in (variant, REFERENCE))
    return Standing(
        scenario,
        variant,
        seeds=row["seeds"],
        compared=row["compared"],
        words=_words(row),
        cost=float(row["cost"]),
        gap=float(row["gap"]),
        floor=float(row["floor"]),
        grade=by_twins or by_accuracy,
        by=TWINS if by_twins else ACCURACY,
        by_accuracy=by_accuracy,
        utility=own[0],
        utility_gap=own[0] - scratch[0],
        subset=own[1],
        certificate=promise,
    )


def _words(row: dict[Hashable, Any]) -> str:
    """What is written in place of a cost; empty where there is one."""
    if row["refused"]:
        return "refuses this scenario"
    if 2 * row["recovered"] < row["seeds"]:
        never = "diverges every time" if row["diverged"] else "never recovers"
        return f"recovers{_FROM_ALL} in {row['recovered']} of {row['seeds']} seeds" if row["once"] else never
    return "" if pd.notna(row["cost"]) else "nothing to compare with"


def _utility(metrics: pd.DataFrame) -> dict[Hashable, Any]:
    """By scenario and variant, accuracy where it should stay, and on which subset: mean over requests and seeds."""
    rows = metrics[(metrics["stop"] == "target") & (metrics["metric"] == "accuracy")]
    found: dict[Hashable, Any] = {}
    for subset in _UTILITY:
        means = rows[rows["subset"] == subset].groupby(["scenario", "variant"])["value"].mean()
        for key, value in means.items():
            found.setdefault(key, (float(value), subset))
    return found


def _certificates(tables: Tables, methods: Mapping[str, str]) -> dict[tuple[str, str], Certificate]:
    """What is promised with the methods' own noise."""
    no_sweep = pd.DataFrame(columns=["scenario", "variant", "sigma"])
    table = frontier(tables.cells, no_sweep, tables.refuted)
    return {
        (row["scenario"], row["variant"]): _worth(row, methods.get(row["variant"], ""))
        for row in table.to_dict("records")
    }


def _worth(row: dict[Hashable, Any], method: str) -> Certificate:
    """What trains again without the clients needs no count: nothing of them is in it."""
    exact = row["claimed_epsilon"] == 0 and (row["promise"] == "request" or method in TRAIN_AGAIN)
    return Certificate(
        float(row["claimed_epsilon"]), float(row["claimed_delta"]), EXACT if exact else _PROMISES[row["promise"]]
    )
