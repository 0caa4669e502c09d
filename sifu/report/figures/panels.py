"""A panel a scenario and quantity over requests or budgets: what several figures of the paper look like."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sifu.report.figures.board import Board
from sifu.report.figures.style import legend, lines, scale
from sifu.report.floor import floors
from sifu.report.results import Results
from sifu.report.standings import datasets_first

_FLOOR = "band: gap of scratch, run again"
Row = tuple[str, str, str]  # quantity, subset, title of the axis


def panels(source: Results, rows: tuple[Row, ...], part: pd.DataFrame, x: str, x_title: str, kinds: set[str]) -> Figure:
    """`part` of the statistics; scenarios of the given `kinds` (plain, watermark, backdoor)."""
    plan = source.plan
    drawable = part[part["variant"].isin(plan.shown) & part["quantity"].isin([quantity for quantity, *_ in rows])]
    scenarios = [name for name in plan.titles if plan.marks[name] in kinds and name in set(drawable["scenario"])]
    board = Board.of(datasets_first(plan, scenarios), len(rows))
    for i, (quantity, subset, title) in enumerate(rows):
        filled: list[Axes] = []
        chosen = part[(part["quantity"] == quantity) & (part["subset"] == subset)]
        for name in board.names:
            axis, own = board.at(i, name), chosen[chosen["scenario"] == name]
            lost = _lost(part[part["scenario"] == name], own, x) if quantity == "rounds" else None
            lines(axis, source, own, x, lost)
            _shade(axis, source, name, quantity, subset)
            places = set(own[x]) | set(lost[x] if lost is not None else ())
            if places:
                axis.set_xticks(sorted(places))
            if len(own):
                filled.append(axis)
            board.dress(source, i, name, x=x_title, y=title)
        scale(filled, rounds=quantity == "rounds")
    legend(board.figure)
    return board.figure


def _shade(axis: Axes, source: Results, scenario: str, quantity: str, subset: str) -> None:
    """A band up to the floor of a gap, where scratch was run again; of the first request."""
    known = floors(source.statistics)
    known = known[(known["scenario"] == scenario) & (known["quantity"] == quantity) & (known["subset"] == subset)]
    known = known[known["request"] == 1]
    if len(known):
        axis.axhspan(0.0, known["floor"].iloc[0], color="#b0bec5", alpha=0.4, linewidth=0, label=_FLOOR)


def _lost(part: pd.DataFrame, own: pd.DataFrame, x: str) -> pd.DataFrame:
    """What was run and has no rounds, as no seed was left to count them."""
    ran = part[part["quantity"] == "done"]
    there = pd.MultiIndex.from_frame(own[["variant", x]])
    return ran[~pd.MultiIndex.from_frame(ran[["variant", x]]).isin(there)]
