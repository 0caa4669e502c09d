"""Ours: how many models it takes to see how small an effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sifu.forgetting.sample import NEEDS
from sifu.report.figures.board import Board
from sifu.report.figures.style import colours, finish, legend, log_ticks
from sifu.report.power import SHIFT, WORLDS, metric_words
from sifu.report.results import Results

TITLE = "How small an effect can be seen"
CAPTION = f"{SHIFT}, against the number of models of each world (ours). {WORLDS}"
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<", ">", "*", "p")


def caption(source: Results) -> str:
    """With a sentence on each metric of the figure that needs one."""
    return " ".join([CAPTION, *metric_words(_drawn(source)["metric"])])


def draw(source: Results) -> Figure:
    rows = _drawn(source)
    board = Board.of(sorted(set(rows["scenario"]), key=list(source.plan.titles).index), 1, width=4.2, height=3.0)
    metrics = [name for name in NEEDS if name in set(rows["metric"])]
    for name in board.names:
        axis, part = board.at(0, name), rows[rows["scenario"] == name]
        for place, metric in enumerate(metrics):
            line = part[part["metric"] == metric].sort_values("models")
            look: dict[str, Any] = {
                "marker": _MARKERS[place],
                "color": colours()[place % len(colours())],
                "markersize": 4,
            }
            axis.plot(line["models"], line["effect"], label=NEEDS[metric].name, **look)
        if len(part):
            axis.set(xscale="log", yscale="log")
            log_ticks(axis, "x")
            log_ticks(axis, "y")
        finish(axis, empty=part.empty)
        board.dress(source, 0, name, x="models a world", y="smallest effect (sd)")
    legend(board.figure)
    return board.figure


def _drawn(source: Results) -> pd.DataFrame:
    """The effects that are found, of the first request."""
    rows = source.power[np.isfinite(source.power["effect"])]
    return rows[rows["request"] == rows["request"].min()]
