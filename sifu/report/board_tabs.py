"""The tabs of the leaderboard: a dataset each first, and the twin tests; variations of these in a quieter line."""

from __future__ import annotations

from html import escape

from sifu.plan.report_plan import ReportPlan
from sifu.report.grades import TWINS
from sifu.report.standings import Standing, main_scenarios


def in_groups(plan: ReportPlan, rows: list[Standing]) -> tuple[list[str], list[str]]:
    """The scenarios with rows: the first of each dataset and those with a twin test, then all others."""
    there, tested = {row.scenario for row in rows}, {row.scenario for row in rows if row.by == TWINS}
    names = [name for name in plan.titles if name in there]
    first = {*main_scenarios(plan, [name for name in plan.unmarked if name in there]), *tested}
    return [name for name in names if name in first], [name for name in names if name not in first]


def tab_list(plan: ReportPlan, first: list[str], others: list[str]) -> str:
    """A list of tabs in two groups; the first tab is open. Panels have the numbers of their tabs."""
    names = [*first, *others]
    tabs = [_tab(plan.titles[name], place) for place, name in enumerate(names)]
    groups = [_group("datasets", "", tabs[: len(first)]), _group("variations", "Variations", tabs[len(first) :])]
    return f'<div role="tablist" aria-label="scenarios">{"".join(groups)}</div>'


def _tab(title: str, place: int) -> str:
    return (
        f'<button type="button" role="tab" aria-selected="{"false" if place else "true"}" aria-controls="board-{place}"'
        f' id="tab-{place}">{escape(title)}</button>'
    )


def _group(kind: str, title: str, tabs: list[str]) -> str:
    """Tabs with a name in front, where it has one; nothing without tabs."""
    name = f"<span>{title}</span>" if title else ""
    return f'<div class="tabs {kind}" role="presentation">{name}{"".join(tabs)}</div>' if tabs else ""
