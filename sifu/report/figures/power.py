"""Ours: how many models it takes to see how small an effect."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sifu.forgetting.sample import NEEDS
from sifu.report.figures.board import Board
from sifu.report.figures.style import colours, finish, legend, log_ticks
from sifu.report.results import Results

TITLE = "How small an effect can be seen"
CAPTION = (
    "The smallest shift of the forgotten clients' mean margin, in its standard deviations over models, that a metric "
    "finds in 90% of draws at a level of 5%, against the number of models of each world. Both worlds are drawn from "
    "oracles, which have never seen the clients; the shift is added to one of them, for the twin test to whoever took "
    "part, for the worst decile to all remaining clients (ours)."
)
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<", ">", "*")


def draw(source: Results) -> Figure:
    rows = source.power[np.isfinite(source.power["effect"])]
    rows = rows[rows["request"] == rows["request"].min()]
    board = Board.of(sorted(set(rows["scenario"]), key=list(source.plan.titles).index), 1, width=4.2, height=3.0)
    metrics = [name for name in NEEDS if name in set(rows["metric"])]
    for name in board.names:
        axis, part = board.at(0, name), rows[rows["scenario"] == name]
        for place, metric in enumerate(metrics):
            line = part[part["metric"] == metric].sort_values("models")
            look: dict[str, Any] = {"marker": _MARKERS[place], "color": colours()[place], "markersize": 4}
            axis.plot(line["models"], line["effect"], label=NEEDS[metric].name, **look)
        if len(part):
            axis.set(xscale="log", yscale="log")
            log_ticks(axis, "x")
            log_ticks(axis, "y")
        finish(axis, empty=part.empty)
        board.dress(source, 0, name, x="models a world", y="smallest effect (sd)")
    legend(board.figure)
    return board.figure
