"""Ours: what certificates claim, and what counting models proves, as more clients leave."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sifu.report.figures.board import Board
from sifu.report.figures.style import finish, legend, style
from sifu.report.results import Results
from sifu.report.standings import datasets_first

TITLE = "Audits: the epsilon that is claimed, and the one that counting proves"
CAPTION = (
    "Against the number of clients that have left. A mark with a solid line: the lower bound on epsilon that models "
    "trained with and without all of them prove, with 95% confidence (an arrow: all that so many models can prove). "
    "Dashed: the claimed epsilon. Dotted: the epsilon strictly counted by Psi, where it is finite. All are at the "
    "promised delta. A proved epsilon above the claimed one refutes a promise to all of them together; a promise to "
    "each alone is exceeded, but not refuted (the table `audit` says which is made). Up to 1 the axis is linear, above "
    "it logarithmic (ours)."
)
_CLOSE = 0.99  # of what can be proved at most


def draw(source: Results) -> Figure:
    rows = source.audit[source.audit["who"] == "request"]
    present = set(rows["scenario"])
    board = Board.of(datasets_first(source.plan, [name for name in source.plan.titles if name in present]), 1, height=3)
    for name in board.names:
        axis, part = board.at(0, name), rows[rows["scenario"] == name]
        for variant in [one for one in source.plan.labels if one in set(part["variant"])]:
            _lines(axis, part[part["variant"] == variant].sort_values("clients"), style(source, variant))
        if len(part):
            axis.set_yscale("symlog", linthresh=1)
            axis.set_ylim(bottom=0)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        finish(axis, empty=part.empty)
        board.dress(source, 0, name, x="clients that have left", y="epsilon")
    legend(board.figure)
    return board.figure


def _lines(axis: Axes, rows: pd.DataFrame, marks: dict[str, Any]) -> None:
    """One method: proved, claimed, and strictly counted, of one seed."""
    colour, x = marks["color"], rows["clients"]
    axis.plot(x, rows["proved_epsilon"], **(marks | {"linestyle": "-"}))
    axis.plot(x, rows["claimed_epsilon"], color=colour, linestyle="--", linewidth=1)
    axis.plot(x, rows["strict_epsilon"], color=colour, linestyle=":", linewidth=1.2)
    for place in rows[rows["proved_epsilon"] >= _CLOSE * rows["most_provable"]].to_dict("records"):
        at = place["clients"], place["proved_epsilon"]
        axis.annotate("", at, (0, 14), textcoords="offset points", arrowprops={"arrowstyle": "<-", "color": colour})
