"""Ours: does Psi tell which clients a training remembers?"""

from __future__ import annotations

from matplotlib.figure import Figure

from sifu.report.atlas import by_client
from sifu.report.figures.board import Board
from sifu.report.figures.style import colours, finish, legend, log_ticks
from sifu.report.results import Results

TITLE = "Who is remembered, and who Psi says could be"
CAPTION = (
    "A mark a client: what trainings remember of it (the mean margin on its own data with it minus without it) against "
    "its Psi, as the paper counts it and strictly, and against alpha, how far it moved the model in fact. Means over "
    "seeds, all of one federation (ours)."
)
_SERIES = {
    "psi_published": ("Psi, as the paper counts", "o"),
    "psi_strict": ("Psi, strict", "s"),
    "alpha": ("alpha, measured", "^"),
}


def draw(source: Results) -> Figure:
    clients = by_client(source.atlas)
    board = Board.of(sorted(set(clients["scenario"]), key=list(source.plan.titles).index), 1, width=4.2, height=3.0)
    for name in board.names:
        axis, part = board.at(0, name), clients[clients["scenario"] == name]
        for (column, (label, marker)), colour in zip(_SERIES.items(), colours(), strict=False):
            shown = part[part[column] > 0]  # who never took part has moved nothing
            axis.scatter(
                shown[column], shown["memorisation"], s=14, alpha=0.7, marker=marker, color=colour, label=label
            )
        if len(part):
            axis.set_xscale("log")
            log_ticks(axis, "x")
        finish(axis, empty=part.empty)
        board.dress(source, 0, name, x="distance of two models, or its bound", y="memorisation (margin)")
    legend(board.figure)
    return board.figure
