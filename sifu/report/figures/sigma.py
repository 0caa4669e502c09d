"""Figure 4: what the noise sigma does to SIFU."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sifu.report.figures.style import colours, finish, grid, legend, style
from sifu.report.plan import Source
from sifu.report.statistics import intervals

TITLE = "Impact of sigma"
CAPTION = (
    "SIFU under different noise, one request after another to the target accuracy: aggregation rounds and "
    "accuracy on all who have left so far. Little noise hides nothing, so that SIFU goes back to the start, as "
    "scratch does; much noise hides everything, and nothing is left to go back from, as with Last; both are drawn"
    " as horizontal lines for the first request. Mean over seeds and its 95% bootstrap interval (paper, figure "
    "4)."
)
_ROWS = (("rounds", "aggregation rounds"), ("forget_accuracy", "accuracy on the forgotten"))
_LIMITS = {"rounds": ("rounds", ""), "forget_accuracy": ("accuracy", "forgotten")}


def draw(source: Source) -> Figure:
    rows = source.sweep
    scenarios = [name for name in source.plan.titles if name in set(rows["scenario"])]
    figure, axes = grid(2, max(1, len(scenarios)))
    for i, (column, title) in enumerate(_ROWS):
        for j, scenario in enumerate(scenarios):
            _panel(axes[i, j], rows[rows["scenario"] == scenario], column)
            _limits(axes[i, j], source, scenario, column)
            axes[i, j].set(xscale="log", title=source.plan.titles[scenario] if i == 0 else "")
            finish(axes[i, j])
        axes[i, 0].set_ylabel(title)
        if not scenarios:
            finish(axes[i, 0], empty=True)
    for axis in axes[1]:
        axis.set_xlabel("sigma")
    legend(figure)
    return figure


def _panel(axis: Axes, rows: pd.DataFrame, column: str) -> None:
    """A line a request."""
    over = intervals(rows, ["request", "sigma"], column)
    for colour, (request, group) in zip(colours(), over.groupby("request"), strict=False):
        error = [group["mean"] - group["low"], group["high"] - group["mean"]]
        x, y, label = group["sigma"], group["mean"], f"request {request}"
        axis.errorbar(x, y, error, capsize=2, marker="o", markersize=4, color=colour, label=label)


def _limits(axis: Axes, source: Source, scenario: str, column: str) -> None:
    quantity, subset = _LIMITS[column]
    numbers = source.statistics
    for variant in ("scratch", "last"):
        part = numbers[
            (numbers["scenario"] == scenario) & (numbers["variant"] == variant) & (numbers["stop"] == "target")
        ]
        part = part[(part["quantity"] == quantity) & (part["subset"] == subset) & (part["request"] == 1)]
        if len(part) and variant in source.plan.shown:
            look = style(source, variant)
            axis.axhline(part["mean"].iloc[0], color=look["color"], linestyle="--", linewidth=1, label=look["label"])
