"""Figures from the tables: the same method always in the same colour and with the same marker."""

from __future__ import annotations

from typing import Any

import matplotlib
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from sifu.report.statistics import ROUNDING

matplotlib.use("Agg")

Labels = dict[str, str]  # variant or scenario -> name in figures
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*", "<", ">", "h", "p", "d", "8", "H", "+", "x")
_LINES = ("-", "--", ":")  # after ten methods the colours begin again


def style(labels: Labels, variant: str) -> dict[str, Any]:
    """Colour (safe for the colour-blind) and marker of a variant, by its place in variants.yaml."""
    place = list(labels).index(variant)
    colours = sns.color_palette("colorblind", 10)
    shape = {"marker": _MARKERS[place % len(_MARKERS)], "linestyle": _LINES[place // 10 % len(_LINES)], "markersize": 5}
    return {"color": colours[place % 10], "label": labels[variant]} | shape


def requests_figure(statistics: pd.DataFrame, labels: Labels, titles: Labels) -> Figure:
    """Rounds, and accuracy on those forgotten so far, after each request: a column a scenario (paper, figure 3)."""
    rows = (("rounds", "", "aggregation rounds"), ("accuracy", "forgotten", "accuracy on the forgotten"))
    to_target = statistics[statistics["stop"] == "target"]
    return _grid(to_target, rows, labels, titles, "request", "request")


def budgets_figure(statistics: pd.DataFrame, labels: Labels, titles: Labels) -> Figure:
    """Gaps to scratch on retain and forget sets after the first request, under each budget (paper, figure 1)."""
    limited = statistics[(statistics["stop"] != "target") & (statistics["request"] == 1)]
    limited = limited.assign(budget=limited["stop"].str.removeprefix("budget_").astype(int))
    rows = (("gap_to_scratch", "retain", "gap on retain"), ("gap_to_scratch", "forget", "gap on forget"))
    return _grid(limited, rows, labels, titles, "budget", "budget, % of the training's client steps")


def _grid(
    statistics: pd.DataFrame,
    rows: tuple[tuple[str, str, str], ...],
    labels: Labels,
    titles: Labels,
    x: str,
    x_title: str,
) -> Figure:
    scenarios = [name for name in titles if name in set(statistics["scenario"])] or ["nothing yet"]
    figure = Figure(figsize=(3.2 * len(scenarios) + 1.6, 2.5 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), len(scenarios), squeeze=False)
    for i, (quantity, subset, title) in enumerate(rows):
        part = statistics[(statistics["quantity"] == quantity) & (statistics["subset"] == subset)]
        for j, scenario in enumerate(scenarios):
            _lines(axes[i, j], part[part["scenario"] == scenario], labels, x)
            axes[i, j].set(
                title=titles.get(scenario, scenario) if i == 0 else "", xlabel=x_title if i + 1 == len(rows) else ""
            )
            axes[i, j].set_xticks(sorted(part[x].unique()))
        axes[i, 0].set_ylabel(title)
    _legend(figure)
    return figure


def _lines(axis: Axes, part: pd.DataFrame, labels: Labels, x: str) -> None:
    """A line a method with its 95% interval; the methods stand a little apart, so that bars do not hide each other."""
    present = [variant for variant in labels if variant in set(part["variant"])]
    step = (part[x].max() - part[x].min()) / 40 if len(part) else 0.0
    for place, variant in enumerate(present):
        group = part[part["variant"] == variant].sort_values(x)
        error = [group["mean"] - group["low"], group["high"] - group["mean"]]
        shift = (place - (len(present) - 1) / 2) * step
        axis.errorbar(group[x] + shift, group["mean"], error, capsize=2, linewidth=1.2, **style(labels, variant))
    if not present:
        axis.text(0.5, 0.5, "no data", ha="center", va="center", transform=axis.transAxes)
    sns.despine(ax=axis)


def _legend(figure: Figure) -> None:
    handles: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        figure.legend(list(handles.values()), list(handles), loc="outside right upper", frameon=False, fontsize=8)


_BOUNDS = (("psi_published", "published"), ("psi_strict", "strict"))


def alpha_figure(alpha: pd.DataFrame, titles: Labels) -> Figure:
    """Measured alpha(n, c) and its bounds: over rounds (median of clients and seeds), and point by point.

    A bound holds where its points lie above the line (paper, figure 8).
    """
    scenarios = [name for name in titles if name in set(alpha["scenario"])] or ["nothing yet"]
    figure = Figure(figsize=(3.4 * len(scenarios) + 1.4, 5.4), layout="constrained")
    axes = figure.subplots(2, len(scenarios), squeeze=False)
    for j, scenario in enumerate(scenarios):
        part = alpha[alpha["scenario"] == scenario]
        _alpha_curves(axes[0, j], part)
        _alpha_points(axes[1, j], part[part["alpha"] > 0])
        axes[0, j].set(title=titles.get(scenario, scenario), xlabel="round n")
        axes[1, j].set(xlabel="measured alpha(n, c)")
    axes[0, 0].set_ylabel("median over clients and seeds")
    axes[1, 0].set_ylabel("bound Psi(n, c)")
    return figure


def _alpha_curves(axis: Axes, part: pd.DataFrame) -> None:
    colours = sns.color_palette("colorblind", 10)
    middle = part.groupby("round")[["alpha", *(column for column, _ in _BOUNDS)]].median()
    axis.plot(middle.index, middle["alpha"], color="black", label="measured alpha")
    for place, (column, label) in enumerate(_BOUNDS):
        axis.plot(middle.index, middle[column], color=colours[place], label=f"Psi, {label}")
    axis.set_yscale("symlog", linthresh=1e-2)
    axis.legend(frameon=False, fontsize=7)
    sns.despine(ax=axis)


def _alpha_points(axis: Axes, part: pd.DataFrame) -> None:
    colours = sns.color_palette("colorblind", 10)
    for place, (column, label) in enumerate(_BOUNDS):
        held = (part["alpha"] <= part[column] * (1 + ROUNDING)).mean() if len(part) else float("nan")
        text = f"{label}: holds for {held:.1%}"
        axis.plot(part["alpha"], part[column], ".", ms=2, alpha=0.4, color=colours[place], label=text, rasterized=True)
    if len(part):
        ends = [part["alpha"].min(), part["alpha"].max()]
        axis.plot(ends, ends, color="black", linewidth=0.8)
        axis.set(xscale="log", yscale="log")
        axis.xaxis.set_minor_formatter(NullFormatter())
    axis.legend(frameon=False, fontsize=7, markerscale=4)
    sns.despine(ax=axis)


def null_space_figure(rows: pd.DataFrame) -> Figure:
    """Distance of the fine-tuned model to the retrained one, in and outside of the null space (paper, appendix A)."""
    figure = Figure(figsize=(4.6, 3.0), layout="constrained")
    axis = figure.subplots()
    colours = sns.color_palette("colorblind", 10)
    titles = (("null_space", "null space of the examples left"), ("span", "their span"))
    for colour, (column, title) in zip(colours, titles, strict=False):
        middle, low, high = (rows.groupby("step")[column].quantile(q) for q in (0.5, 0.0, 1.0))
        axis.plot(middle.index, middle, color=colour, label=title)
        axis.fill_between(middle.index, low, high, color=colour, alpha=0.2, linewidth=0)
    axis.set(yscale="log", xscale="symlog", xlabel="steps without the example", ylabel="distance to retraining")
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=1e-9)  # below it is rounding
    axis.legend(
        frameon=False, fontsize=8, title=f"median and range of {rows['seed'].nunique()} problems", title_fontsize=8
    )
    sns.despine(ax=axis)
    return figure
