"""What the overview shows: its panels and their names, and the methods of each line."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from sifu.plan.report_plan import ReportPlan
from sifu.report.figures.board import MAX_PANELS
from sifu.report.grades import TWINS, UNKNOWN
from sifu.report.standings import ORIGINAL, TRAIN_AGAIN, Standing, main_scenarios

MAX_METHODS = 14
COLUMNS = 4  # panels in a line
_FIRST = ("scratch", "sifu")  # methods, in the order in which the eye should find them


class Line(NamedTuple):
    """Panels side by side, and the methods that they show."""

    names: list[str]
    variants: list[str]
    small: bool  # nothing can be told in any of these panels


def drawn_scenarios(plan: ReportPlan, rows: list[Standing]) -> list[str]:
    """The first scenario of each dataset, where something has a cost, each followed by that with twin tests of most
    methods that are drawn, other than retraining.
    """
    drawn = [name for name in drawn_variants(plan, rows) if plan.methods[name] not in TRAIN_AGAIN]
    tested = Counter(row.scenario for row in rows if row.by == TWINS and row.variant in drawn)
    priced = {row.scenario for row in rows if row.has_cost}
    main = main_scenarios(plan, [name for name in plan.unmarked if name in priced])
    data = {name: plan.datasets.get(name, name) for name in plan.unmarked}
    most = {data[name]: name for name in sorted(plan.unmarked, key=lambda name: tested[name]) if tested[name]}
    wanted = [name for name in plan.unmarked if name in main or name in most.values()]
    order = list(dict.fromkeys(data.values()))
    return sorted(wanted, key=lambda name: order.index(data[name]))[:MAX_PANELS]


def drawn_variants(plan: ReportPlan, rows: list[Standing]) -> list[str]:
    """Variants that figures show and that were run, as many as there is room for: scratch, SIFU, then the others."""
    ran = {row.variant for row in rows}
    shown = [name for name in plan.labels if name in plan.shown and plan.methods[name] != ORIGINAL]
    there = [name for name in shown if name in ran][:MAX_METHODS]
    return sorted(there, key=lambda name: [*_FIRST, plan.methods[name]].index(plan.methods[name]))


def lines_of(plan: ReportPlan, names: list[str], rows: list[Standing], columns: int) -> list[Line]:
    """The panels in lines of about the same length; where one is not enough, those that tell nothing come last."""
    if not names:
        return [Line([""], [], False)]
    told = _telling(plan, rows) if len(names) > COLUMNS else set(names)
    found = []
    for group in ([name for name in names if name in told], [name for name in names if name not in told]):
        lines = -(-len(group) // columns) or 1
        long = -(-len(group) // lines)
        parts = [group[first : first + long] for first in range(0, len(group), long or 1)]
        found += [Line(part, _variants(plan, part, rows), part[0] not in told) for part in parts]
    return found


def _telling(plan: ReportPlan, rows: list[Standing]) -> set[str]:
    """The scenarios in which a bar, besides those of whoever trains again, says whether its clients were forgotten."""
    others = [row for row in rows if row.has_cost and plan.methods[row.variant] not in TRAIN_AGAIN]
    return {row.scenario for row in others if row.grade is not UNKNOWN}


def _variants(plan: ReportPlan, names: list[str], rows: list[Standing]) -> list[str]:
    """The variants that one of the panels has, or plans."""
    shown = drawn_variants(plan, rows)
    there = {row.variant for row in rows if row.scenario in names}
    there |= {variant for name in names for variant in plan.variants.get(name, shown)}
    return [variant for variant in shown if variant in there]
