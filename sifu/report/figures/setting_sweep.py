"""Ours: what one setting of a method does, before and after the recovery (Wu et al.'s epochs of distillation)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sifu.report.figures.board import Board
from sifu.report.figures.style import crosses, finish, hollow, legend, scale, share_axis, style
from sifu.report.results import Results
from sifu.report.statistics import intervals, lost, to_target

TITLE = "What one setting of a method does"
CAPTION = (
    "The first request, with several values of one setting: accuracy on the forgotten clients and on the remaining "
    "ones, of the model that the recovery starts from (before) and of its result (after), and the aggregation rounds "
    "to the target. Horizontal lines: the original model and scratch. For subtract and distil (Wu et al.), whose paper "
    "gives no number of epochs: the old model is the teacher, so that accuracy on the forgotten rises towards the "
    "original model's with every epoch. A hollow mark: some seeds had not reached the target when they were stopped. "
    "A cross: all of them diverged. Mean over seeds and its 95% bootstrap interval (ours)."
)
_WHEN = (("start_", "before recovery", "--", "#0072B2"), ("", "after recovery", "-", "#D55E00"))
_SHARES = (("forget_accuracy", "accuracy on the forgotten"), ("retain_accuracy", "accuracy on the remaining"))
_SUBSETS = {"forget_accuracy": "forgotten", "retain_accuracy": "retain"}
_LIMITS = ("original", "scratch")


def draw(source: Results) -> Figure:
    rows = source.setting_sweep
    board = Board.of([name for name in source.plan.titles if name in set(rows["scenario"])], 3, height=2.2)
    for name in board.names:
        own = rows[rows["scenario"] == name]
        own = own[own["variant"] == own["variant"].min()]  # a panel has room for one; the table has the others
        own = own.assign(place=own["value"].rank(method="dense") - 1)
        for i, (column, title) in enumerate(_SHARES):
            _accuracies(board.at(i, name), source, own, column)
            board.dress(source, i, name, x="", y=title)
        _rounds(board.at(2, name), own)
        board.dress(source, 2, name, x=_axis_name(source, own), y="aggregation rounds")
    scale([board.at(2, name) for name in board.names if len(rows)], rounds=True)
    legend(board.figure)
    return board.figure


def _axis_name(source: Results, own: pd.DataFrame) -> str:
    """`epochs (Subtract and distil)`."""
    if own.empty:
        return ""
    first = own.iloc[0]
    return f"{first['setting']} ({source.plan.labels.get(first['variant'], first['variant'])})"


def _accuracies(axis: Axes, source: Results, own: pd.DataFrame, column: str) -> None:
    """Before and after the recovery, and where the original model and scratch are."""
    for prefix, label, line, colour in _WHEN:
        part = intervals(own, ["place"], f"{prefix}{column}")
        if len(part):
            error = [part["mean"] - part["low"], part["high"] - part["mean"]]
            marks: dict[str, Any] = {"color": colour, "marker": "o", "markersize": 4, "linestyle": line}
            axis.errorbar(part["place"], part["mean"], error, capsize=2, label=label, **marks)
    if len(own):
        _limits(axis, source, own["scenario"].iloc[0], _SUBSETS[column])
    _ticks(axis, own)
    share_axis(axis)


def _rounds(axis: Axes, own: pd.DataFrame) -> None:
    part, colour = intervals(own, ["place"], "rounds"), _WHEN[1][3]
    marks: dict[str, Any] = {"color": colour, "marker": "o", "markersize": 4}
    if len(part):
        error = [part["mean"] - part["low"], part["high"] - part["mean"]]
        axis.errorbar(part["place"], part["mean"], error, capsize=2, **marks)
        hollow(axis, part, part["place"], marks)
    crosses(axis, lost(own, ["place"])["place"], colour)
    _ticks(axis, own)


def _ticks(axis: Axes, own: pd.DataFrame) -> None:
    """The values, evenly spaced: some settings double, others begin at 0."""
    values = sorted(own["value"].unique())
    finish(axis, empty=not values)
    if values:
        axis.set_xticks(range(len(values)), [f"{value:g}" for value in values])


def _limits(axis: Axes, source: Results, scenario: str, subset: str) -> None:
    numbers = to_target(source.statistics)
    numbers = numbers[(numbers["scenario"] == scenario) & (numbers["request"] == 1)]
    numbers = numbers[(numbers["quantity"] == "accuracy") & (numbers["subset"] == subset)]
    for variant, line in zip(_LIMITS, (":", "--"), strict=True):
        part = numbers[numbers["variant"] == variant]
        if len(part) and variant in source.plan.labels:
            marks = style(source, variant)
            axis.axhline(part["mean"].iloc[0], color=marks["color"], label=marks["label"], linestyle=line, linewidth=1)
