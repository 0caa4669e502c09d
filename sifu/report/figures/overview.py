"""Ours, before the paper's figures: what all requests cost with each method, and whether the clients were forgotten."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sifu.plan.report_plan import ReportPlan
from sifu.report.figures.board import MAX_PANELS, Board
from sifu.report.figures.style import finish
from sifu.report.grades import ACCURACY, GRADES, TWINS
from sifu.report.results import Results
from sifu.report.standings import (
    BROKEN,
    EXACT,
    FOR_ONE,
    KEPT,
    ORIGINAL,
    UNCOUNTED,
    Standing,
    main_scenarios,
    standings,
    without_uncounted,
)

TITLE = "What unlearning costs, and whether the clients were forgotten"
CAPTION = (
    "A bar is what a method costs: the client steps of all requests until the target accuracy, calibration included, "
    "relative to training again from scratch (100%). A bar above 160% is cut off there and has two white strokes. "
    "Colour, pattern and sign say whether the clients were forgotten. With a star: by the twin test of many models, "
    "after the requests for which table `forgetting` has it. Without: by accuracy on their data, within 0.03 of "
    "scratch's (forgotten), up to 0.1 above "
    "it (in part), further above it (not forgotten), or more than 0.03 below it; it cannot tell where it was not "
    "measured, or is within 0.1 of scratch's even for the model before any request. Accuracy is no proof: a model with "
    "scratch's accuracy may still carry traces of the clients. Below a panel: the floor of that gap, the mean absolute "
    "one of scratch, run again with other cohorts and batches, if it was. Right of a panel: what is left of the "
    "certificate; no word where nothing is promised, or the panel's settings do not count it. `kept`: for all clients "
    "of a request together, in every seed and request; `exact`: the same with epsilon 0; `one client`: for each client "
    "alone; `broken`: not even that; `not counted`: this run did not. Means over the seeds in which the method and "
    "scratch reached the target after every request; a method without a bar did so, within the maximum rounds, in "
    "fewer than half of the seeds (`recovers in 0 of 3 seeds`), or reached it after no request at all (`never "
    "recovers`). The training that DP-FedAvg needs for itself is not counted. One panel a dataset, and one for each "
    "federation with a twin test; a method without a word is not part of that panel's plan; at most 14 methods: the "
    "report has the others."
)
MAX_METHODS = 14
CUT = 1.6  # of scratch's client steps: longer bars end here
_WIDTH = 8.8  # inches: on a page of 840 dots type keeps its size
_NARROW = 3.55  # inches: a phone
_TYPE = 8  # points
_RIGHT, _RIGHT_NARROW = 2.9, 3.25  # where certificates stand, in units of scratch's client steps
_GREY = "#5f6b76"
_PLAIN = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}  # behind words, which cross the line of scratch
_BADGES: dict[str, dict[str, Any]] = {  # a certificate, in grey levels alone: filled where it survives
    EXACT: {"color": "white", "facecolor": "#1c2430", "edgecolor": "#1c2430"},
    KEPT: {"color": "white", "facecolor": "#1c2430", "edgecolor": "#1c2430"},
    FOR_ONE: {"color": "#1c2430", "facecolor": "#cfd6dd", "edgecolor": "#1c2430"},
    BROKEN: {"color": "#1c2430", "facecolor": "white", "edgecolor": "#1c2430", "linestyle": "--"},
    UNCOUNTED: {"color": _GREY, "facecolor": "white", "edgecolor": "none"},
}


def drawn_scenarios(plan: ReportPlan, rows: list[Standing]) -> list[str]:
    """The first scenario of each dataset, and those with a twin test; where something has a cost."""
    tested = {row.scenario for row in rows if row.by == TWINS}
    wanted = {*main_scenarios(plan, _with_costs(plan, rows)), *tested}
    return [name for name in plan.unmarked if name in wanted][:MAX_PANELS]


def _with_costs(plan: ReportPlan, rows: list[Standing]) -> list[str]:
    there = {row.scenario for row in rows if row.has_cost}
    return [name for name in plan.unmarked if name in there]


def drawn_variants(plan: ReportPlan, rows: list[Standing]) -> list[str]:
    """The variants that figures show and that were run, as many as there is room for."""
    ran = {row.variant for row in rows}
    shown = [name for name in plan.labels if name in plan.shown and plan.methods[name] != ORIGINAL]
    return [name for name in shown if name in ran][:MAX_METHODS]


def draw(source: Results) -> Figure:
    """The picture as wide as a page."""
    board, rows = _drawn(source, 3, _WIDTH)
    board.figure.suptitle(TITLE, x=0.01, ha="left", fontsize=11, fontweight="bold")
    _key(board.figure, rows, columns=len(GRADES))
    return board.figure


def draw_narrow(source: Results) -> Figure:
    """The same for a phone: a panel below the other."""
    board, rows = _drawn(source, 1, _NARROW)
    _key(board.figure, rows, columns=2)
    return board.figure


def _drawn(source: Results, columns: int, width: float) -> tuple[Board, list[Standing]]:
    """The panels, and the rows that they show."""
    plan, rows = source.plan, standings(source)
    names = drawn_scenarios(plan, rows)
    rows = without_uncounted(plan, [row for row in rows if row.scenario in names])
    board = Board.of(names, 1, columns=columns, width=1.0)
    lines = _lines(board, plan, rows)
    heights = [max(1.4, 0.55 + 0.215 * len(shown)) for shown in lines]
    board.axes[0, 0].get_gridspec().set_height_ratios(heights)
    board.figure.set_size_inches(width, sum(heights) + 0.75)  # more: title and key
    for place, name in enumerate(board.names):
        axis, found = board.at(0, name), {row.variant: row for row in rows if row.scenario == name}
        finish(axis, empty=not found)
        if found:
            shown = lines[place // board.axes.shape[1]]
            _panel(axis, found, shown, plan.variants.get(name, shown), narrow=columns == 1)
            first = place % board.axes.shape[1] == 0
            axis.set_yticks(range(len(shown)), [plan.labels[variant] if first else "" for variant in shown])
            _emphasise(axis, plan, shown)
        title = fill(plan.titles.get(name, ""), 30 if columns > 1 else 26)
        axis.set_title(title, fontsize=10, loc="left", fontweight="bold")
        axis.set_xlabel(_floor(found), fontsize=_TYPE)
    return board, rows


def _lines(board: Board, plan: ReportPlan, rows: list[Standing]) -> list[list[str]]:
    """The variants of each line of panels: those that one of its panels has, or plans."""
    shown, columns = drawn_variants(plan, rows), board.axes.shape[1]
    lines = []
    for first in range(0, len(board.names), columns):
        names = board.names[first : first + columns]
        there = {row.variant for row in rows if row.scenario in names}
        there |= {variant for name in names for variant in plan.variants.get(name, shown)}
        lines.append([variant for variant in shown if variant in there])
    return lines


def _panel(axis: Axes, found: dict[str, Standing], shown: list[str], planned: list[str], *, narrow: bool) -> None:
    """Bars, and at the right the certificates. A method that is not planned here has no words, either."""
    right = _RIGHT_NARROW if narrow else _RIGHT
    axis.axvline(1, color="#90a4ae", linewidth=1, zorder=0)
    for place, variant in enumerate(shown):
        row = found.get(variant)
        if row and row.has_cost:
            _bar(axis, place, row)
        elif row or variant in planned:
            words = row.short_words if row else "not run"
            words = words.removeprefix("recovers in ") if narrow else words
            axis.text(0.03, place, words, va="center", fontsize=_TYPE, color=_GREY, style="italic", bbox=_PLAIN)
        if row and row.certificate:
            _badge(axis, right, place, row.certificate.worth)
    if any(row.certificate for row in found.values()):
        below = axis.get_xaxis_transform()  # in line with the numbers of the axis
        axis.text(right, -0.03, "certificate", ha="right", va="top", fontsize=_TYPE, transform=below)
    axis.set(xlim=(0, right + 0.02), ylim=(len(shown) - 0.4, -0.6))
    ticks = [0, 1] if narrow else [0, 0.5, 1, 1.5]
    axis.set_xticks(ticks, [f"{tick:.0%}" if tick else "0" for tick in ticks], fontsize=_TYPE)
    axis.tick_params(axis="y", length=0, labelsize=9)
    axis.spines["left"].set_visible(False)
    axis.spines["bottom"].set_bounds(0, 1.6)


def _bar(axis: Axes, place: int, row: Standing) -> None:
    """A bar with its length, its sign, and a star where many models were compared; two strokes where it is cut off."""
    length, given = min(row.cost, CUT), row.grade
    pattern: dict[str, Any] = {"hatch": given.pattern, "edgecolor": "white", "linewidth": 0}
    axis.barh(place, length, height=0.7, color=given.colour, zorder=2, **pattern)
    if row.cost > CUT:
        for x in (CUT - 0.16, CUT - 0.08):
            axis.plot([x, x + 0.05], [place + 0.4, place - 0.4], color="white", linewidth=2, zorder=3)
    words = f"{row.cost:.0%} {given.sign}{'*' if row.by == TWINS else ''}"
    axis.text(length + 0.05, place, words, va="center", fontsize=_TYPE, zorder=3, bbox=_PLAIN)


def _badge(axis: Axes, right: float, place: int, worth: str) -> None:
    """What is left of a certificate, in a box at the right of the panel."""
    box = dict(_BADGES[worth])
    axis.text(
        *(right, place, worth),
        ha="right",
        va="center",
        fontsize=_TYPE - 0.4,
        color=box.pop("color"),
        bbox={"boxstyle": "round,pad=0.18", "linewidth": 0.8} | box,
        zorder=4,
    )


def _emphasise(axis: Axes, plan: ReportPlan, shown: list[str]) -> None:
    for label, variant in zip(axis.get_yticklabels(), shown, strict=True):
        label.set_fontweight("bold" if plan.methods[variant] == "sifu" else "normal")


def _floor(found: dict[str, Standing]) -> str:
    """The floor of the gap of accuracy, where scratch was run again and bars are graded by accuracy."""
    known = [row.floor for row in found.values() if row.by == ACCURACY and row.floor == row.floor]
    return f"floor of the gap: {known[0]:.3f}" if known else ""


def _key(figure: Figure, rows: list[Standing], *, columns: int) -> None:
    """Below all panels what bars are, and the grades that were given."""
    used = {row.grade for row in rows if row.has_cost}
    handles = [
        Patch(facecolor=one.colour, hatch=one.pattern, edgecolor="white", linewidth=0, label=f"{one.sign} {one.words}")
        for one in GRADES
        if one in used
    ]
    star = "     * judged by the twin test, others by accuracy" if any(row.by == TWINS for row in rows) else ""
    words = f"bars: client steps of all requests, relative to training again from scratch (100%){star}"
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns, "frameon": False}
    letters = round(figure.get_figwidth() * 15)  # of a line
    figure.legend(handles=handles, title=fill(words, letters), title_fontsize=_TYPE + 0.5, fontsize=9, **place)
