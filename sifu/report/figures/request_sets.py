"""The paper's Figure 6: which clients are forgotten."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sifu.report.figures.board import Board
from sifu.report.figures.style import legend, lines, scale
from sifu.report.results import Results
from sifu.report.statistics import intervals, lost

TITLE = "Which clients are forgotten"
CAPTION = (
    "One request after the training, for each of several sets of clients: each class in turn where clients hold "
    "one, random sets elsewhere. Aggregation rounds and accuracy on the forgotten clients. Mean over seeds and its 95% "
    "bootstrap interval. A hollow mark: some seeds had not reached the target when they were stopped, and count with "
    "the rounds they had. Seeds that diverged have no rounds; a cross stands where all of them did. The training of "
    "DP-FedAvg is not counted (paper, Figure 6)."
)
_ROWS = (("rounds", "aggregation rounds"), ("forget_accuracy", "accuracy on the forgotten"))


def draw(source: Results) -> Figure:
    rows = source.request_sets
    board = Board.of([name for name in source.plan.titles if name in set(rows["scenario"])], 2)
    for i, (column, title) in enumerate(_ROWS):
        filled: list[Axes] = []
        for name in board.names:
            axis, own = board.at(i, name), rows[rows["scenario"] == name]
            part = intervals(own, ["variant", "set"], column)
            lines(axis, source, part, "set", lost(own, ["variant", "set"]) if column == "rounds" else None)
            if len(part):
                axis.set_xticks(sorted(part["set"].unique()))
                filled.append(axis)
            board.dress(source, i, name, x="set (class, where clients hold one)", y=title)
        scale(filled, rounds=column == "rounds")
    legend(board.figure)
    return board.figure
