"""Ours, before the paper's figures: what all requests cost with each method, and whether the clients were forgotten."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sifu.plan.report_plan import ReportPlan
from sifu.report.figures.board import Board
from sifu.report.figures.style import finish
from sifu.report.results import Results
from sifu.report.totals import request_totals

TITLE = "What unlearning costs, and whether the clients were forgotten"
CAPTION = (
    "A bar is what a method costs: the client steps of all requests until the target accuracy, calibration included, "
    "relative to training again from scratch (100%). A bar above 160% is cut off there and has two white strokes. "
    "Colour and sign say whether the clients were forgotten, judged by accuracy on their data: within 0.03 of "
    "scratch's (forgotten), up to 0.1 above it (in part), further above it (not forgotten), or more than 0.03 below "
    "it. Below a panel: the floor of that gap, the mean absolute one of scratch, run again with other cohorts and "
    "batches, if it was. Grey: accuracy cannot tell, as it is within 0.1 of scratch's even for the model before any "
    "request. Means over the seeds in which the method and scratch reached the target after every request; a method "
    "without a bar did so, within the maximum rounds, in fewer than half of the seeds. What accuracy cannot show: a "
    "model with scratch's accuracy may still carry traces of the clients, so that this is no proof of forgetting (see "
    "figure `watermark` and the tables `verification` and `certificates`). The training that DP-FedAvg needs for "
    "itself is not counted. At most 14 methods are drawn; scenarios with marked data, or "
    "with less than half of the methods, have figures of their own."
)
MAX_METHODS = 14
CUT = 1.6  # of scratch's client steps: longer bars end here
CLOSE, FAR = 0.03, 0.1  # of accuracy on the forgotten clients, from scratch's
_ORIGINAL = "original"  # the model before any request: it has no cost, and has forgotten nothing
_GREY = "#5f6b76"
_PLAIN = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}  # behind words, which cross the line of scratch


class Grade(NamedTuple):
    """How well the clients were forgotten, by accuracy: a colour (Okabe and Ito's) and a sign for one who sees none."""

    words: str
    colour: str
    sign: str


FORGOTTEN = Grade("forgotten", "#009E73", "✓")
IN_PART = Grade("in part", "#E69F00", "~")
NOT_FORGOTTEN = Grade("not forgotten", "#D55E00", "✗")
BELOW = Grade("less accurate than scratch", "#CC79A7", "↓")
UNKNOWN = Grade("accuracy cannot tell", "#999999", "?")
_GRADES = (FORGOTTEN, IN_PART, NOT_FORGOTTEN, BELOW, UNKNOWN)


def grade(gap: float, original: float = math.inf) -> Grade:
    """The grade of an accuracy on the forgotten clients that differs from scratch's by `gap`.

    `original` is the gap of the model before any request. Where even that one is not graded as not forgotten, no
    method can be.
    """
    if original <= FAR:
        return UNKNOWN
    if gap < -CLOSE:
        return BELOW
    return FORGOTTEN if gap <= CLOSE else IN_PART if gap <= FAR else NOT_FORGOTTEN


def drawn_variants(plan: ReportPlan) -> list[str]:
    """The variants that figures show, and every variant of SIFU: how it counts decides what it costs."""
    wanted = [name for name in plan.labels if name in plan.shown or plan.methods[name] == "sifu"]
    return [name for name in wanted if plan.methods[name] != _ORIGINAL]


def drawn_scenarios(plan: ReportPlan) -> list[str]:
    """Scenarios without marks, with at least half of the methods: those of controls have figures of their own."""
    drawn = set(drawn_variants(plan))
    most = max((len(drawn & set(names)) for names in plan.variants.values()), default=0)
    plain = [name for name in plan.titles if plan.marks[name] == "plain"]
    return [name for name in plain if len(drawn & set(plan.variants.get(name, drawn))) >= most / 2]


def draw(source: Results) -> Figure:
    plan, totals = source.plan, request_totals(source.cells, source.metrics)
    names = [name for name in drawn_scenarios(plan) if name in set(totals["scenario"])]
    run = set(totals.loc[totals["scenario"].isin(names), "variant"])
    shown = [name for name in drawn_variants(plan) if name in run][:MAX_METHODS]
    columns = min(len(names), 5) or 1
    board = Board.of(names, 1, width=max(2.35, 7.2 / columns), height=max(1.4, 0.65 + 0.25 * len(shown)))
    board.figure.set_figheight(board.figure.get_figheight() + 0.5)  # inches: title and key
    for name in board.names:
        axis, rows = board.at(0, name), totals[totals["scenario"] == name].set_index("variant")
        finish(axis, empty=not len(rows))
        if len(rows):
            _panel(axis, rows, shown)
            first = board.names.index(name) % board.axes.shape[1] == 0
            axis.set_yticks(range(len(shown)), [plan.labels[variant] if first else "" for variant in shown])
        board.dress(source, 0, name, x=_floor(rows), y="")
    _key(board.figure)
    return board.figure


def _panel(axis: Axes, rows: pd.DataFrame, shown: list[str]) -> None:
    found = rows.to_dict("index")
    original = found[_ORIGINAL]["gap_of_all"] if _ORIGINAL in found else math.inf
    axis.axvline(1, color="#90a4ae", linewidth=1, zorder=0)
    for place, variant in enumerate(shown):
        words = _words(found[variant]) if variant in found else "not run"
        if words:
            axis.text(0.03, place, words, va="center", fontsize=8, color=_GREY, style="italic", bbox=_PLAIN)
        else:
            _bar(axis, place, found[variant]["cost"], grade(found[variant]["gap"], original))
    axis.set(xlim=(0, 2.15), ylim=(len(shown) - 0.4, -0.6))
    axis.set_xticks([0, 0.5, 1, 1.5], ["0", "50%", "100%", "150%"], fontsize=8)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)


def _floor(rows: pd.DataFrame) -> str:
    """The floor of the gap of accuracy, where scratch was run again."""
    known = rows["floor"].dropna()
    return f"floor of the gap: {known.iloc[0]:.3f}" if len(known) else ""


def _words(row: dict[Hashable, Any]) -> str:
    """What is written in place of a bar; empty where there is one."""
    if row["refused"]:
        return "refuses this scenario"
    if 2 * row["recovered"] < row["seeds"]:
        return f"recovers in {row['recovered']} of {row['seeds']} seeds" if row["recovered"] else "never recovers"
    return "" if pd.notna(row["cost"]) and pd.notna(row["gap"]) else "nothing to compare with"


def _bar(axis: Axes, place: int, cost: float, given: Grade) -> None:
    """A bar with its length and its sign; two white strokes where it is cut off."""
    length = min(cost, CUT)
    axis.barh(place, length, height=0.66, color=given.colour, zorder=2, label=f"{given.sign} {given.words}")
    if cost > CUT:
        for x in (CUT - 0.16, CUT - 0.08):
            axis.plot([x, x + 0.05], [place + 0.4, place - 0.4], color="white", linewidth=1.5, zorder=3)
    axis.text(length + 0.04, place, f"{cost:.0%} {given.sign}", va="center", fontsize=8, zorder=3, bbox=_PLAIN)


def _key(figure: Figure) -> None:
    """The title above all panels; below them what bars are, and the colours that were used."""
    figure.suptitle(TITLE, x=0.01, ha="left", fontsize=11, fontweight="bold")
    used = {label for axis in figure.axes for label in axis.get_legend_handles_labels()[1]}
    labels = {f"{entry.sign} {entry.words}": entry.colour for entry in _GRADES}
    handles = [Patch(color=colour, label=label) for label, colour in labels.items() if label in used]
    words = "bars: client steps of all requests, relative to training again from scratch (100%)"
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": len(_GRADES), "frameon": False}
    figure.legend(handles=handles, title=words, title_fontsize=9, fontsize=9, **place)
