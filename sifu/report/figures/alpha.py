"""Figure 6: the sensitivity that was measured against its bounds."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from sifu.report.figures.style import colours, finish, grid
from sifu.report.plan import Source
from sifu.report.statistics import ROUNDING

TITLE = "Is Psi a bound?"
CAPTION = (
    "Measured alpha(n, c), the distance of the training to the same training without client c, and its bounds "
    "Psi(n, c) as published and strictly counted (the released code differs after a request only). Above: medians"
    " over clients and seeds. Below: point by point; a bound holds where its points lie above the line (paper, "
    "figure of alpha and Psi)."
)
_BOUNDS = (("psi_published", "published"), ("psi_strict", "strict"))
_MOST_POINTS = 4000  # of a panel: more only make a larger file


def draw(source: Source) -> Figure:
    alpha = source.alpha
    scenarios = [name for name in source.plan.titles if name in set(alpha["scenario"])]
    figure, axes = grid(2, max(1, len(scenarios)), width=3.4, height=2.7)
    for j, scenario in enumerate(scenarios):
        part = alpha[alpha["scenario"] == scenario]
        _curves(axes[0, j], part)
        _points(axes[1, j], part[part["alpha"] > 0])
        axes[0, j].set(title=source.plan.titles[scenario], xlabel="round n")
        axes[1, j].set(xlabel="measured alpha(n, c)")
    axes[0, 0].set_ylabel("median over clients and seeds")
    axes[1, 0].set_ylabel("bound Psi(n, c)")
    if not scenarios:
        finish(axes[0, 0], empty=True)
        finish(axes[1, 0], empty=True)
    return figure


def _curves(axis: Axes, part: pd.DataFrame) -> None:
    middle = part.groupby("round")[["alpha", *(column for column, _ in _BOUNDS)]].median()
    axis.plot(middle.index, middle["alpha"], color="black", label="measured alpha")
    for place, (column, label) in enumerate(_BOUNDS):
        axis.plot(middle.index, middle[column], color=colours()[place], label=f"Psi, {label}")
    axis.set_yscale("symlog", linthresh=1e-2)
    axis.legend(frameon=False, fontsize=7)
    finish(axis)


def _points(axis: Axes, part: pd.DataFrame) -> None:
    shown = part.iloc[:: max(1, len(part) // _MOST_POINTS)]
    for place, (column, label) in enumerate(_BOUNDS):
        held = (part["alpha"] <= part[column] * (1 + ROUNDING)).mean() if len(part) else float("nan")
        text, colour = f"{label}: holds for {held:.1%}", colours()[place]
        axis.plot(shown["alpha"], shown[column], ".", ms=2, alpha=0.4, color=colour, label=text, rasterized=True)
    if len(part):
        ends = [part["alpha"].min(), part["alpha"].max()]
        axis.plot(ends, ends, color="black", linewidth=0.8)
        axis.set(xscale="log", yscale="log")
        axis.xaxis.set_minor_formatter(NullFormatter())
    axis.legend(frameon=False, fontsize=7, markerscale=4)
    finish(axis)
