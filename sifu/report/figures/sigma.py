"""The paper's Figure 5: what the noise sigma does to SIFU."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sifu.report.figures.board import Board
from sifu.report.figures.style import crosses, finish, hollow, legend, log_ticks, share_axis, style
from sifu.report.results import Results
from sifu.report.statistics import intervals, lost, to_target

TITLE = "Impact of sigma on the first request"
CAPTION = (
    "SIFU under different noise, after the first request, to the target accuracy: aggregation rounds and accuracy on "
    "the forgotten clients. With little noise, which hides nothing, SIFU goes back to nearly the start, as scratch "
    "does. With much noise, which hides everything, SIFU starts from the last model, as Last does. Scratch and Last "
    "are drawn as horizontal lines. A hollow mark: some seeds had not reached the target when they were stopped, and "
    "count with the rounds they had. Seeds that diverged have no rounds; a cross stands where all of them did. Mean "
    "over seeds and its 95% bootstrap interval (paper, Figure 5)."
)
_COLOURS = ("#0072B2", "#00415F", "#56B4E9", "#7F7F7F")  # a line a swept variant: shades of SIFU's
_ROWS = (("rounds", "aggregation rounds"), ("forget_accuracy", "accuracy on the forgotten"))
_LIMITS = {"rounds": ("rounds", ""), "forget_accuracy": ("accuracy", "forgotten")}


def draw(source: Results) -> Figure:
    rows = source.sweep[source.sweep["request"] == 1]  # as in the paper
    board = Board.of([name for name in source.plan.titles if name in set(rows["scenario"])], 2)
    for i, (column, title) in enumerate(_ROWS):
        for name in board.names:
            axis, own = board.at(i, name), rows[rows["scenario"] == name]
            finish(axis, empty=not len(own))
            for place, variant in enumerate(_in_order(source, rows)):
                part = own[own["variant"] == variant]
                if len(part):
                    label = source.plan.labels.get(variant, variant)
                    _panel(axis, part, column, label, _COLOURS[place % len(_COLOURS)])
            if len(own):
                _limits(axis, source, name, column)
            board.dress(source, i, name, x="sigma", y=title)
    legend(board.figure)
    return board.figure


def _in_order(source: Results, rows: pd.DataFrame) -> list[str]:
    """The swept variants, in the order of the run's; others last."""
    return sorted(set(rows["variant"]), key=lambda name: ([*source.plan.labels, name].index(name), name))


def _panel(axis: Axes, rows: pd.DataFrame, column: str, label: str, colour: str) -> None:
    """A line; hollow marks where a seed fell short of the target, crosses where all seeds diverged."""
    over, broken = intervals(rows, ["sigma"], column), lost(rows, ["sigma"])
    error = [over["mean"] - over["low"], over["high"] - over["mean"]]
    marks: dict[str, Any] = {"color": colour, "marker": "o", "markersize": 4}
    if len(over):  # nothing at all would leave an axis that cannot be logarithmic
        axis.errorbar(over["sigma"], over["mean"], error, capsize=2, label=label, **marks)
        hollow(axis, over, over["sigma"], marks)
    axis.set_xscale("log")
    if column == "rounds":  # stopped recoveries have so many rounds that a linear axis would hide the others
        crosses(axis, broken["sigma"], colour)
        axis.set_yscale("log")
        log_ticks(axis, "y")
    else:
        share_axis(axis)


def _limits(axis: Axes, source: Results, scenario: str, column: str) -> None:
    quantity, subset = _LIMITS[column]
    numbers = to_target(source.statistics)
    for variant in ("scratch", "last", "last_released"):
        part = numbers[(numbers["scenario"] == scenario) & (numbers["variant"] == variant) & (numbers["request"] == 1)]
        part = part[(part["quantity"] == quantity) & (part["subset"] == subset) & ~part["short"]]
        if len(part) and variant in source.plan.shown:
            marks = style(source, variant)
            line = {"color": marks["color"], "label": marks["label"], "linestyle": "--", "linewidth": 1}
            axis.axhline(part["mean"].iloc[0], **line)
