"""The paper's Figure 5: what the noise sigma does to SIFU."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sifu.report.figures.board import Board
from sifu.report.figures.style import crosses, finish, hollow, legend, log_ticks, steps, style, whole_range
from sifu.report.results import Results
from sifu.report.statistics import intervals, lost, to_target

TITLE = "Impact of sigma"
CAPTION = (
    "SIFU under different noise, one request after another to the target accuracy: aggregation rounds and accuracy on "
    "all clients forgotten so far. With little noise, which hides nothing, SIFU goes back to the start, as scratch "
    "does. With much noise, which hides everything, SIFU starts from the last model, as Last does. Scratch and Last "
    "are drawn as horizontal lines for the first request. A hollow mark: some seeds had not reached the target when "
    "they were stopped, and count with the rounds they had. Seeds that diverged have no rounds; a cross stands where "
    "all of them did. Mean over seeds and its 95% bootstrap interval (paper, Figure 5)."
)
_ROWS = (("rounds", "aggregation rounds"), ("forget_accuracy", "accuracy on the forgotten"))
_LIMITS = {"rounds": ("rounds", ""), "forget_accuracy": ("accuracy", "forgotten")}


def draw(source: Results) -> Figure:
    rows = source.sweep
    board = Board.of([name for name in source.plan.titles if name in set(rows["scenario"])], 2)
    for i, (column, title) in enumerate(_ROWS):
        for name in board.names:
            axis, own = board.at(i, name), rows[rows["scenario"] == name]
            finish(axis, empty=not len(own))
            if len(own):
                _panel(axis, own, column)
                _limits(axis, source, name, column)
            board.dress(source, i, name, x="sigma", y=title)
    legend(board.figure)
    return board.figure


def _panel(axis: Axes, rows: pd.DataFrame, column: str) -> None:
    """A line a request; hollow marks where a seed fell short of the target, crosses where all seeds diverged."""
    over, broken = intervals(rows, ["request", "sigma"], column), lost(rows, ["request", "sigma"])
    colour_of = dict(zip(sorted(rows["request"].unique()), steps(rows["request"].nunique()), strict=True))
    for request, group in over.groupby("request"):
        colour = colour_of[request]
        error = [group["mean"] - group["low"], group["high"] - group["mean"]]
        x, y, label = group["sigma"], group["mean"], f"request {request}"
        axis.errorbar(x, y, error, capsize=2, marker="o", markersize=4, color=colour, label=label)
        hollow(axis, group, group["sigma"], {"color": colour, "marker": "o", "markersize": 4})
    axis.set_xscale("log")
    if column == "rounds":  # stopped recoveries have so many rounds that a linear axis would hide the others
        for request, group in broken.groupby("request"):
            crosses(axis, group["sigma"], colour_of[request])
        axis.set_yscale("log")
        log_ticks(axis, "y")
    else:
        whole_range(axis, rounds=False)


def _limits(axis: Axes, source: Results, scenario: str, column: str) -> None:
    quantity, subset = _LIMITS[column]
    numbers = to_target(source.statistics)
    for variant in ("scratch", "last"):
        part = numbers[(numbers["scenario"] == scenario) & (numbers["variant"] == variant) & (numbers["request"] == 1)]
        part = part[(part["quantity"] == quantity) & (part["subset"] == subset) & ~part["short"]]
        if len(part) and variant in source.plan.shown:
            marks = style(source, variant)
            label = f"{marks['label']}, request 1"
            axis.axhline(part["mean"].iloc[0], color=marks["color"], linestyle="--", linewidth=1, label=label)
