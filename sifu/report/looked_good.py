"""Which methods look good by accuracy and fail the twin test: why forgetting is not judged by accuracy alone."""

from __future__ import annotations

import pandas as pd

from sifu.plan.report_plan import ReportPlan
from sifu.report.grades import CLOSE, FORGOTTEN, NOT_FORGOTTEN, TWINS, UNKNOWN, twin_grades
from sifu.report.standings import EXACT, TRAIN_AGAIN, Standing
from sifu.report.untested import untested


def looked_good(plan: ReportPlan, rows: list[Standing], *, named: bool = False) -> str | None:
    """The methods whose clients seem forgotten by accuracy and are not by twins, by scenario; None: no twin test.

    `named`: with the names of those that were not tested, and could be among them.
    """
    tested = [row for row in rows if row.by == TWINS]
    if not tested:
        return None
    failed, more = (
        [row for row in tested if _fails(row) and _passes_by_accuracy(row)],
        not_tested(plan, rows, named=named),
    )
    if not failed:
        return f"No method that looks good by accuracy fails the twin test.{more}"
    scenarios = list(dict.fromkeys(row.scenario for row in failed))
    words = [f"{plan.titles[name]}: {_methods(plan, failed, name)}" for name in scenarios]
    return f"They look good by accuracy and fail the twin test: {'; '.join(words)}.{_blind(plan, failed)}{more}"


def not_tested(plan: ReportPlan, rows: list[Standing], *, named: bool = True) -> str:
    """How many variants were run on a dataset and never tested by twins there, and who looks good by accuracy."""
    rows = [row for row in rows if plan.methods[row.variant] not in TRAIN_AGAIN]
    tested = {(row.scenario, row.variant) for row in rows if row.by == TWINS}
    good = {(plan.datasets.get(row.scenario, row.scenario), row.variant) for row in rows if _passes_by_accuracy(row)}
    words = []
    for dataset, names in untested([(row.scenario, row.variant) for row in rows], tested, plan.datasets).items():
        labels = [plan.labels[name] for name in names if (dataset, name) in good]
        count = f"{_title(plan, dataset)}: {len(names)}, {len(labels)} of which look good by accuracy"
        words.append(f"{count} ({'; '.join(labels)})" if named and labels else count)
    return f" Variants run on the same data and not tested by twins: {'; '.join(words)}." if words else ""


def _title(plan: ReportPlan, dataset: str) -> str:
    """The name of the first scenario of a dataset."""
    return next(title for name, title in plan.titles.items() if plan.datasets.get(name, name) == dataset)


def forgot(plan: ReportPlan, rows: list[Standing]) -> list[Standing]:
    """The rows whose clients were forgotten, less those of methods that fail the twin test of the same training."""
    failed = {row[:2] for row in who_fails(plan, rows)}
    return [row for row in rows if row.has_cost and row.grade is FORGOTTEN and row[:2] not in failed]


def who_fails(plan: ReportPlan, rows: list[Standing]) -> list[Standing]:
    """The rows of methods that fail the twin test of the same training, whatever accuracy says of them."""
    failed = {place for row in rows if _fails(row) for place in places(plan, row, rows)}
    return [row for row in rows if not failed.isdisjoint(places(plan, row, rows))]


def surely_forgot(plan: ReportPlan, rows: list[Standing]) -> list[Standing]:
    """Of these, the rows that do not rest on accuracy alone: of methods that pass the twin test of the same
    training, or whose answers were counted as exact.
    """
    tested = [row for row in rows if row.by == TWINS and row.grade is FORGOTTEN]
    passed = {place for row in tested for place in places(plan, row, rows)}
    return [row for row in forgot(plan, rows) if not passed.isdisjoint(places(plan, row, rows)) or is_exact(row)]


def cheapest(plan: ReportPlan, rows: list[Standing], racing: list[Standing]) -> Standing | None:
    """The cheapest of some rows of one scenario whose clients were forgotten in all seeds: by the twin test where there
    is one of the same kind of training; none where all cost the same. `rows`: those of all scenarios.
    """
    winners = [] if is_tie(racing) else contenders(plan, rows, racing)
    return min(winners, key=lambda row: row.cost, default=None)


def is_tie(rows: list[Standing]) -> bool:
    """Whether all methods that have a cost, two or more, have the same, as where all stop at the minimum of rounds."""
    costs = [row.cost for row in rows if row.has_cost]
    return len(set(costs)) == 1 < len(costs)


def contenders(plan: ReportPlan, rows: list[Standing], racing: list[Standing]) -> list[Standing]:
    """Those of `racing`, rows of one scenario, that forgot in all seeds."""
    tested = any(is_tested(plan, rows, row.scenario) for row in racing)
    good = surely_forgot(plan, rows) if tested else forgot(plan, rows)
    return [row for row in racing if row.in_all_seeds and row in good]


def is_tested(plan: ReportPlan, rows: list[Standing], scenario: str) -> bool:
    """Whether there is a twin test of a scenario's kind of training."""
    return any(row.by == TWINS and _training(plan, row.scenario) == _training(plan, scenario) for row in rows)


def fails_on(plan: ReportPlan, forgetting: pd.DataFrame, scenario: str) -> set[str]:
    """The variants that fail the twin test of a scenario's kind of training, from table `forgetting`."""
    own = _training(plan, scenario)
    found = twin_grades(forgetting).items()
    return {name for (other, name), one in found if one is NOT_FORGOTTEN and _training(plan, other) == own}


def _training(plan: ReportPlan, scenario: str) -> str:
    return plan.trainings.get(scenario, scenario)


def places(plan: ReportPlan, row: Standing, rows: list[Standing]) -> set[tuple[str, str]]:
    """The kind of training, with the variant and those that did the same: a search may find what a default is."""
    same = [other.variant for other in rows if other.scenario == row.scenario and _same(plan, row, other)]
    return {(_training(plan, row.scenario), variant) for variant in (row.variant, *same)}


def _same(plan: ReportPlan, row: Standing, other: Standing) -> bool:
    """Whether two variants of a method gave the same answers: no number differs in any digit."""
    numbers = [(one.cost, one.gap, one.utility) for one in (row, other)]
    return plan.methods[row.variant] == plan.methods[other.variant] and numbers[0] == numbers[1]


def is_exact(row: Standing) -> bool:
    """Whether its answers were counted as exact: they are those of training again."""
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
