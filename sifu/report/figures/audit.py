"""Ours: what certificates claim, and what counting models proves, as more clients leave."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sifu.report.figures.board import Board
from sifu.report.figures.style import finish, legend, style
from sifu.report.results import Results
from sifu.report.standings import datasets_first

TITLE = "Audits: the epsilon that is claimed, and the one that counting proves"
CAPTION = (
    "Against the number of clients that have left (one of several that leave together is on the left). A mark with a "
    "solid line: the lower bound on epsilon that models trained with and without all of them prove, with 95% "
    "confidence (an arrow: all that so many models can prove). Hollow: the epsilon measured by alpha, where noise is "
    "added once. Dotted: the epsilon strictly counted by Psi, where it is finite. Dashed: the claimed epsilon. "
    "All are at the promised delta. A proved epsilon above the claimed one refutes a promise to all of them together; "
    "a promise to each alone is exceeded, but not refuted (the table `audit` says which is made). Up to 1 the axis is "
    "linear, above it logarithmic (ours)."
)
_CLOSE = 0.99  # of what can be proved at most
_APART = 0.1  # of a step between two numbers of clients: marks of methods at the same place


def draw(source: Results) -> Figure:
    rows = source.audit
    present = set(rows["scenario"])
    board = Board.of(datasets_first(source.plan, [name for name in source.plan.titles if name in present]), 1, height=3)
    for name in board.names:
        axis, part = board.at(0, name), rows[rows["scenario"] == name]
        if len(part):
            _panel(axis, source, part)
        finish(axis, empty=part.empty)
        board.dress(source, 0, name, x="clients that have left", y="epsilon")
    legend(board.figure, _key(rows))
    return board.figure


def _key(rows: pd.DataFrame) -> list[Line2D]:
    """What kinds of marks and lines say, whatever the method."""
    kinds: dict[str, dict[str, Any]] = {
        "proved (at least)": {"marker": "o", "linestyle": "-"},
        "measured (alpha)": {"marker": "o", "linestyle": "", "markerfacecolor": "none"},
        "strict count (Psi)": {"linestyle": ":"},
        "claimed": {"linestyle": "--"},
    }
    if (rows["proved_epsilon"] >= _CLOSE * rows["most_provable"]).any():
        kinds["limit of so many models"] = {"marker": "$\\uparrow$", "linestyle": "", "markersize": 9}
    plain: dict[str, Any] = {"color": "0.35", "markersize": 5}
    return [Line2D([], [], label=label, **(plain | look)) for label, look in kinds.items()]


def _panel(axis: Axes, source: Results, rows: pd.DataFrame) -> None:
    """One scenario: a place for each number of clients, and there the methods side by side."""
    counts = sorted(set(rows["clients"]))
    shown = [one for one in source.plan.labels if one in set(rows["variant"])]
    for number, variant in enumerate(shown):
        part = rows[rows["variant"] == variant].sort_values("clients")
        aside = _APART * (number - (len(shown) - 1) / 2)
        _lines(axis, part.assign(x=part["clients"].map(counts.index) + aside), style(source, variant))
    for claim in sorted(set(rows["claimed_epsilon"].dropna())):
        axis.axhline(claim, color="0.35", linestyle="--", linewidth=1, zorder=0)
    axis.set_yscale("symlog", linthresh=1)
    axis.set_ylim(bottom=-0.08)  # marks at 0 are seen
    axis.set_xlim(-0.5, len(counts) - 0.5)
    axis.set_xticks(range(len(counts)), [str(count) for count in counts])


def _lines(axis: Axes, rows: pd.DataFrame, marks: dict[str, Any]) -> None:
    """One method: proved, measured, and strictly counted, of one seed."""
    colour, x = marks["color"], rows["x"]
    axis.plot(x, rows["proved_epsilon"], **(marks | {"linestyle": "-"}))
    hollow = {"label": None, "linestyle": "", "markerfacecolor": "none", "markeredgecolor": colour}
    axis.plot(x, rows["measured_epsilon"], **(marks | hollow))
    axis.plot(x, rows["strict_epsilon"], color=colour, linestyle=":", linewidth=1.2)
    for place in rows[rows["proved_epsilon"] >= _CLOSE * rows["most_provable"]].to_dict("records"):
        at = place["x"], place["proved_epsilon"]
        axis.annotate("", at, (0, 14), textcoords="offset points", arrowprops={"arrowstyle": "<-", "color": colour})
