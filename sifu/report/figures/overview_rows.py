"""What the overview shows: its panels and their names, the methods of each line, and how bars are judged."""

from __future__ import annotations

from typing import NamedTuple

from sifu.plan.report_plan import ReportPlan
from sifu.report.figures.board import MAX_PANELS
from sifu.report.grades import BY_ACCURACY, FORGOTTEN, NOT_FORGOTTEN, TWINS, UNKNOWN, Grade
from sifu.report.looked_good import forgot, surely_forgot
from sifu.report.standings import ORIGINAL, TRAIN_AGAIN, Standing, main_scenarios

MAX_METHODS = 14
COLUMNS = 4  # panels in a line
_REFUTED = f"{NOT_FORGOTTEN.sign} twin test"  # at a bar that accuracy alone would call forgotten
_FIRST = ("scratch", "sifu")  # methods, in the order in which the eye should find them


class Line(NamedTuple):
    """Panels side by side, and the methods that they show."""

    names: list[str]
    variants: list[str]
    small: bool  # nothing can be told in any of these panels


def drawn_scenarios(plan: ReportPlan, rows: list[Standing]) -> list[str]:
    """The first scenario of each dataset, where something has a cost, each followed by those with a twin test of it."""
    tested = {row.scenario for row in rows if row.by == TWINS}
    priced = {row.scenario for row in rows if row.has_cost}
    main = main_scenarios(plan, [name for name in plan.unmarked if name in priced])
    wanted = [name for name in plan.unmarked if name in tested or name in main]
    data = {name: plan.datasets.get(name, name) for name in [*main, *wanted]}
    order = list(dict.fromkeys(data.values()))
    return sorted(wanted, key=lambda name: order.index(data[name]))[:MAX_PANELS]


def panel_titles(plan: ReportPlan, names: list[str], rows: list[Standing]) -> dict[str, str]:
    """The names of panels: one with a twin test is called after the panel of its dataset that has none."""
    tested = {row.scenario for row in rows if row.by == TWINS}
    main = {plan.datasets.get(name, name): name for name in names if name not in tested}
    found = {}
    for name in names:
        base = main.get(plan.datasets.get(name, name), name)
        found[name] = plan.titles.get(base, "") + (" (twin test)" if base != name else "")
    return found


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


def verdicts(plan: ReportPlan, rows: list[Standing]) -> dict[tuple[str, str], tuple[Grade, str]]:
    """By scenario and variant, what a bar looks like and its sign.

    What rests on accuracy alone looks weaker, and not forgotten where the method fails the twin test of the same kind
    of training. Whoever trains again without the clients has forgotten them, whatever was measured.
    """
    good, sure = ({row[:2] for row in some} for some in (forgot(plan, rows), surely_forgot(plan, rows)))
    found = {}
    for row in rows:
        given, key = row.grade, row[:2]
        if row.by != TWINS and plan.methods[row.variant] in TRAIN_AGAIN:
            given = FORGOTTEN
        elif row.by != TWINS and given is FORGOTTEN and key not in sure:
            given = BY_ACCURACY if key in good else NOT_FORGOTTEN
        refuted = given is NOT_FORGOTTEN and row.grade is FORGOTTEN
        found[key] = given, _REFUTED if refuted else given.sign
    return found
