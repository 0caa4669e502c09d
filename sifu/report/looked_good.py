"""Which methods look good by accuracy and fail the twin test: why forgetting is not judged by accuracy alone."""

from __future__ import annotations

import pandas as pd

from sifu.plan.report_plan import ReportPlan
from sifu.report.grades import CLOSE, FORGOTTEN, NOT_FORGOTTEN, TWINS, UNKNOWN, twin_grades
from sifu.report.standings import EXACT, Standing


def looked_good(plan: ReportPlan, rows: list[Standing]) -> str | None:
    """The methods whose clients seem forgotten by accuracy and are not by twins, by scenario; None: no twin test."""
    tested = [row for row in rows if row.by == TWINS]
    if not tested:
        return None
    failed = [row for row in tested if _fails(row) and _passes_by_accuracy(row)]
    if not failed:
        return "No method that looks good by accuracy fails the twin test."
    scenarios = list(dict.fromkeys(row.scenario for row in failed))
    words = [f"{plan.titles[name]}: {_methods(plan, failed, name)}" for name in scenarios]
    return f"They look good by accuracy and fail the twin test: {'; '.join(words)}.{_blind(plan, failed)}"


def forgot(plan: ReportPlan, rows: list[Standing]) -> list[Standing]:
    """The rows whose clients were forgotten, less those of methods that fail the twin test on the same dataset."""
    failed = {_place(plan, row) for row in rows if _fails(row)}
    return [row for row in rows if row.has_cost and row.grade is FORGOTTEN and _place(plan, row) not in failed]


def surely_forgot(plan: ReportPlan, rows: list[Standing]) -> list[Standing]:
    """Of these, the rows that do not rest on accuracy alone: of methods that pass the twin test on the same dataset, or
    whose answers were counted as exact.
    """
    passed = {_place(plan, row) for row in rows if row.by == TWINS and row.grade is FORGOTTEN}
    return [row for row in forgot(plan, rows) if _place(plan, row) in passed or _is_exact(row)]


def fails_on(plan: ReportPlan, forgetting: pd.DataFrame, scenario: str) -> set[str]:
    """The variants that fail the twin test on a scenario's dataset, from table `forgetting`."""
    own = plan.datasets.get(scenario, scenario)
    found = twin_grades(forgetting).items()
    return {name for (other, name), one in found if one is NOT_FORGOTTEN and plan.datasets.get(other, other) == own}


def _place(plan: ReportPlan, row: Standing) -> tuple[str, str]:
    return plan.datasets.get(row.scenario, row.scenario), row.variant


def _is_exact(row: Standing) -> bool:
    return row.certificate is not None and row.certificate.worth == EXACT


def _fails(row: Standing) -> bool:
    return row.by == TWINS and row.grade is NOT_FORGOTTEN


def _passes_by_accuracy(row: Standing) -> bool:
    """Whether accuracy on the forgotten clients is as scratch's, also where even the original model's is close."""
    return row.by_accuracy is FORGOTTEN or (row.by_accuracy is UNKNOWN and abs(row.gap) <= CLOSE)


def _methods(plan: ReportPlan, rows: list[Standing], scenario: str) -> str:
    return ", ".join(plan.labels[row.variant] for row in rows if row.scenario == scenario)


def _blind(plan: ReportPlan, rows: list[Standing]) -> str:
    """Where accuracy could not have told: a method passes there whatever it does."""
    names = dict.fromkeys(plan.titles[row.scenario] for row in rows if row.by_accuracy is UNKNOWN)
    if not names:
        return ""
    return f" Accuracy cannot tell on {'; '.join(names)}: even the original model's is close to scratch's."
