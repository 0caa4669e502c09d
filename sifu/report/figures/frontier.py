"""Ours: what each surviving certificate costs, and the epsilon that it really has."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sifu.report.figures.board import Board
from sifu.report.figures.style import finish, legend, style
from sifu.report.frontier import frontier
from sifu.report.results import Results
from sifu.report.standings import datasets_first
from sifu.report.survivors import UNKNOWN

TITLE = "The honest frontier: cost and real epsilon of certificates that survive"
CAPTION = (
    "A mark is a method whose certificate survives in every seed and request: the exact noise formula hides the "
    "distance to a training in which the next client in line has the seat of each forgotten one, counted round by "
    "round, and the measured distance where there is one. Across: client steps of all requests, relative to training "
    "again from scratch (dashed line), with the t interval over seeds. Up: the largest epsilon of any seed and request "
    "at delta = 0.01, for all clients of a request together; a hollow mark is one that holds for each client alone, at "
    "its epsilon; a pale one, or a dotted line, is as measured alone, because B = 1 is refuted. Exact methods have "
    "epsilon 0. Marks at the same place hide each other. The line joins the sigmas of "
    "a sweep of strict SIFU. Left of the dashed line is what an honest certificate saves. Methods that did not reach "
    "the target in at least half of the seeds, those whose promise is broken, and noise in every round that claims "
    "another delta, are not drawn. All panels have the same scale upwards. Scenarios in which only scratch has a mark "
    "(or scratch again, with other draws) are left to table `frontier`. At most 12 panels, a scenario a dataset first: "
    "the tables have the rest."
)
_SCRATCH = ("scratch", "scratch_again")
_HEIGHTS = {"request": "epsilon", "client": "epsilon_client", "measured": "epsilon_measured"}
_SWEPT: dict[str, Any] = {"color": "#56B4E9", "marker": ".", "linewidth": 1, "zorder": 1}


def draw(source: Results) -> Figure:
    plan, table = source.plan, frontier(source.cells, source.sweep, source.refuted)
    names = [name for name in plan.unmarked if name in set(table["scenario"])]
    marks = {name: _drawn(table[table["scenario"] == name]) for name in names}
    telling = [name for name in names if _tells(source, marks[name])]
    board = Board.of(datasets_first(plan, telling or names), 1, height=2.6)
    highest = max([1.0, *(marks[name]["height"].max() for name in telling)])
    for name in board.names:
        axis, rows = board.at(0, name), table[table["scenario"] == name]
        known = marks.get(name, rows)
        finish(axis, empty=not len(rows))
        if len(rows) and not len(known):
            axis.text(0.5, 0.5, _why_empty(rows["promise"]), ha="center", va="center", transform=axis.transAxes)
        _panel(axis, source, known)
        if len(known):
            axis.set_ylim(-0.04 * highest, 1.08 * highest)
        board.dress(source, 0, name, x="client steps / scratch's", y="real epsilon at delta = 0.01")
    legend(board.figure)
    return board.figure


def _tells(source: Results, rows: pd.DataFrame) -> bool:
    """Whether something besides scratch has a mark."""
    methods = source.plan.methods
    return any(methods.get(str(name), "") not in _SCRATCH for name in rows["variant"])


def _why_empty(promises: pd.Series) -> str:
    if (promises == "unknown").any():
        return UNKNOWN
    return "no mark to draw" if promises.isin(["request", "measured", "client"]).any() else "no certificate survives"


def _drawn(rows: pd.DataFrame) -> pd.DataFrame:
    """Surviving certificates with a cost, and the epsilon of the clients that they hold for."""
    found = rows[rows["promise"].isin([*_HEIGHTS]) & (2 * rows["compared"] >= rows["seeds"])].dropna(subset="cost")
    heights = [row[_HEIGHTS[row["promise"]]] for row in found.to_dict("records")]
    promise = found["promise"]
    found = found.assign(alone=promise == "client", measured=promise == "measured", height=heights)
    return found.astype({"height": float}).dropna(subset="height")


def _panel(axis: Axes, source: Results, rows: pd.DataFrame) -> None:
    if not len(rows):
        return
    axis.axvline(1, color="#90a4ae", linewidth=1, linestyle="--", zorder=0)
    swept = rows["sigma"].notna()
    for key, part in rows[swept].groupby(["variant", "measured"]):
        variant, measured = str(key[0]), bool(key[1])
        label = f"{source.plan.labels.get(variant, variant)}, other sigmas{', as measured' if measured else ''}"
        part = part.sort_values("sigma")
        axis.plot(part["cost"], part["height"], label=label, linestyle=":" if measured else "-", **_SWEPT)
    for row in rows[~swept].to_dict("records"):
        if row["variant"] in source.plan.labels:
            _mark(axis, row, style(source, str(row["variant"])))
    axis.set_xlim(left=0)


def _mark(axis: Axes, row: dict[Any, Any], marks: dict[str, Any]) -> None:
    error = None
    if not math.isnan(row["cost_low"]):
        error = [[row["cost"] - row["cost_low"]], [row["cost_high"] - row["cost"]]]
    shape = {"linestyle": "", "markersize": 7} | ({"markerfacecolor": "white"} if row["alone"] else {})
    pale = {"alpha": 0.5, "label": f"{marks['label']}, as measured"} if row["measured"] else {}
    axis.errorbar([row["cost"]], [row["height"]], xerr=error, capsize=2, **(marks | shape | pale))
