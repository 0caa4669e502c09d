"""How figures look: a method has the same colour and marker everywhere, a variant of it another line, shade or fill."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from textwrap import fill
from typing import Any

import matplotlib
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from sifu.catalog.methods import METHODS
from sifu.report.results import Results

matplotlib.use("Agg")
matplotlib.rcParams["axes.titlesize"] = 10  # two long ones side by side

_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*", "<", ">", "h", "p", "d", "8", "H")
_LEGEND_LINE = 26  # letters of a line in a legend
_WIDE = 30  # times the fewest rounds: more have a logarithmic axis
_SHORT = "hollow: target not met on every seed"
_LOST = "cross: every seed diverged"
_OWN = {  # Okabe and Ito's where they last; SIFU's blue has no neighbour
    "sifu": "#0072B2",
    "scratch": "#000000",
    "fine_tuning": "#009E73",
    "fed_eraser": "#E69F00",
    "last": "#D55E00",
    "fed_accum": "#CC79A7",
    "dp_fedavg": "#8C6D31",
}
_OTHERS = ("#7F7F7F", "#882255", "#999933", "#AA4499", "#661100", "#DDCC77", "#117733", "#BBBBBB")
_SHADES = {"released": ("white", 0.4), "strict": ("black", 0.45)}  # by the last word of a variant's name
_LINES = {"released": "--", "strict": ":"}  # by the last word of a variant's name; another word: "-."
_FILLS = ("full", "left", "right", "top", "bottom")  # of markers, by a variant's number; without a common divisor with
_TONES: tuple[tuple[str, float], ...] = (("white", 0.0), ("black", 0.4), ("white", 0.45))  # its tones


def colours() -> list[tuple[float, float, float]]:
    """Ten colours that the colour-blind can tell apart."""
    return list(sns.color_palette("colorblind", 10))


def style(source: Results, variant: str) -> dict[str, Any]:
    """Colour and marker of the variant's method, shade and line of the variant, its label."""
    method = source.plan.methods[variant].removesuffix("_released")  # the same method, as another code runs it
    others = [name for name in source.plan.methods.values() if name not in METHODS.own]
    place = list(dict.fromkeys([*METHODS.own, *others])).index(method)
    kind = "" if variant == method else variant.rsplit("_", 1)[-1]
    line = _LINES.get(kind, "-.") if kind else "-"
    shape = {"marker": _MARKERS[place % len(_MARKERS)], "linestyle": line, "markersize": 5}
    tone, number = _SHADES.get(kind), 0 if kind in _SHADES else _number(source, variant, method)
    colour = _shade(method_colour(method, place), *(tone or _TONES[number % len(_TONES)]))
    return {"color": colour, "label": source.plan.labels[variant], "fillstyle": _FILLS[number % len(_FILLS)]} | shape


def _number(source: Results, variant: str, method: str) -> int:
    """The place of a variant among those of its method without a shade of their own: what figures show comes first."""
    plan = source.plan
    same = [name for name in plan.labels if plan.methods[name] == method and name.rsplit("_", 1)[-1] not in _SHADES]
    return sorted(same, key=lambda name: (name not in plan.shown, name != method)).index(variant)


def method_colour(method: str, place: int) -> str:
    """The colour of a method, `place` in the catalog: a few have their own, which no other method gets."""
    return _OWN.get(method) or _OTHERS[place % len(_OTHERS)]


def _shade(colour: str, to: str, share: float) -> tuple[float, float, float]:
    """A variant's shade: towards white as released, towards black if strict."""
    red, green, blue = ((1 - share) * a + share * b for a, b in zip(to_rgb(colour), to_rgb(to), strict=True))
    return red, green, blue


def grid(rows: int, columns: int, *, width: float = 3.2, height: float = 2.5) -> tuple[Figure, Any]:
    """An empty figure of panels, and its axes [rows, columns]."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def drawn(source: Results, part: pd.DataFrame) -> set[str]:
    """The variants of some rows that the run wants to see in figures."""
    return set(part["variant"]) & set(source.plan.shown)


def lines(axis: Axes, source: Results, part: pd.DataFrame, x: str, lost: pd.DataFrame | None = None) -> None:
    """A line a method with its 95% interval, the methods a little apart, so that bars do not hide each other.

    `lost`: variants and places without a mean, as every seed diverged; they get a cross at the top.
    """
    lost = part.iloc[:0] if lost is None else lost
    wanted = drawn(source, part) | drawn(source, lost)
    present = [variant for variant in source.plan.labels if variant in wanted]
    step = _step(pd.concat([part[x], lost[x]]), len(present))
    for place, variant in enumerate(present):
        group = part[part["variant"] == variant].sort_values(x)
        error = [group["mean"] - group["low"], group["high"] - group["mean"]]
        shift = (place - (len(present) - 1) / 2) * step
        marks = style(source, variant)
        axis.errorbar(group[x] + shift, group["mean"], error, capsize=2, linewidth=1.2, **marks)
        hollow(axis, group, group[x] + shift, marks)
        crosses(axis, lost.loc[lost["variant"] == variant, x] + shift, marks["color"])
    finish(axis, empty=not present)


def _step(x: pd.Series, count: int) -> float:
    """How far `count` marks of the same x stand apart: all of them within 0.6 of the way to the next x."""
    places = sorted(x.unique())
    apart = min((b - a for a, b in pairwise(places)), default=1.0)
    return float(apart) * min(0.08, 0.6 / max(1, count - 1))


def hollow(axis: Axes, group: pd.DataFrame, x: pd.Series, marks: dict[str, Any]) -> None:
    """White marks over those of cells that fell `short` of the target on some seed, which must not look fast."""
    if "short" not in group or not group["short"].any():
        return
    shape = {key: marks[key] for key in ("color", "marker", "markersize")} | {"markerfacecolor": "white"}
    axis.plot(x[group["short"]], group.loc[group["short"], "mean"], linestyle="", zorder=5, **shape)
    axis.plot([], [], "o", color="black", markersize=5, markerfacecolor="white", label=_SHORT)


def crosses(axis: Axes, x: pd.Series, colour: Any) -> None:
    """Crosses at the top of a panel, whatever its scale: what diverged never reaches the target."""
    if not len(x):
        return
    marks: dict[str, Any] = {"marker": "x", "linestyle": "", "markersize": 5, "transform": axis.get_xaxis_transform()}
    axis.plot(x, [0.97] * len(x), color=colour, **marks)
    axis.plot([], [], "x", color="black", markersize=5, label=_LOST)


def log_ticks(axis: Axes, which: str) -> None:
    """Ticks of a logarithmic `x` or `y` axis: powers of ten, and others between them where there are few."""
    low, high = sorted(getattr(axis, f"get_{which}lim")())
    ticks = getattr(axis, f"{which}axis")
    decades = math.log10(high / low)
    between = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0) if decades < 0.8 else (2.0, 5.0) if decades < 2 else ()
    ticks.set_major_locator(LogLocator(subs=(1.0, *between), numticks=6))
    if decades < 2:
        ticks.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ticks.set_minor_formatter(NullFormatter())


def scale(axes: list[Axes], *, rounds: bool) -> None:
    """The same kind of scale for a row of panels: of rounds, or of shares."""
    if rounds:
        _scale_rounds(axes)
        return
    for axis in axes:
        share_axis(axis)


def _scale_rounds(axes: list[Axes]) -> None:
    """Rounds from 0 on; all on a logarithmic scale where in one panel a method that never arrives would press the
    others together.
    """
    wide = any(axis.dataLim.y0 > 0 and axis.dataLim.y1 > _WIDE * axis.dataLim.y0 for axis in axes)
    for axis in axes:
        low, high = axis.get_ylim()
        if wide and axis.dataLim.y0 > 0:
            axis.set_yscale("log")
            log_ticks(axis, "y")
        elif wide:  # with a zero
            axis.set_yscale("symlog", linthresh=1.0)
        else:
            axis.set_ylim(min(low, 0.0), high)
            axis.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, steps=[1, 2, 5, 10]))


def share_axis(axis: Axes) -> None:
    """Shares not so close that noise seems a difference."""
    if axis.get_ylim()[1] < 0.1:
        axis.set_ylim(-0.005, 0.1)


def finish(axis: Axes, *, empty: bool = False) -> None:
    if empty:
        axis.text(0.5, 0.5, "no data", ha="center", va="center", transform=axis.transAxes)
        axis.set(xticks=[], yticks=[])
    sns.despine(ax=axis)


def legend(figure: Figure, notes: Sequence[Line2D] = ()) -> None:
    """One legend below all panels, in as many columns as a line has room for; `notes` come last."""
    handles: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    handles = dict(sorted(handles.items(), key=lambda entry: entry[0] in (_SHORT, _LOST)))  # last: these are no methods
    if not handles:
        return
    handles |= {str(note.get_label()): note for note in notes}
    labels = [fill(label, _LEGEND_LINE) for label in handles]
    longest = max(len(line) for label in labels for line in label.splitlines())
    columns = max(1, min(len(labels), int(figure.get_figwidth() / (0.6 + 0.065 * longest))))  # inches: mark, letters
    lines = -(-len(labels) // columns) * max(label.count("\n") + 1 for label in labels)
    figure.set_figheight(figure.get_figheight() + 0.1 + 0.17 * lines)  # panels keep their height
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns}
    figure.legend(list(handles.values()), labels, frameon=False, fontsize=8, **place)
