"""Where panels stand: a column a scenario, and a new line of columns when one is full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sifu.report.figures.style import grid
from sifu.report.results import Results

MAX_PANELS = 12  # of a figure: the tables have the rest
_COLUMNS = 3  # in a line: a wider figure could not be read on a page


@dataclass(frozen=True)
class Board:
    """A figure with `rows` panels for each of its names; without any there is one empty column."""

    figure: Figure
    names: list[str]
    rows: int
    axes: Any  # [lines * rows, columns]

    @staticmethod
    def of(names: list[str], rows: int, *, columns: int = _COLUMNS, width: float = 3.2, height: float = 2.5) -> Board:
        """The first of `names`, as many as there is room for."""
        shown = names[: MAX_PANELS // rows] or [""]
        lines = -(-len(shown) // columns)
        columns = -(-len(shown) // lines)  # lines of about the same length
        figure, axes = grid(lines * rows, columns, width=width, height=height)
        for place in range(len(shown), lines * columns):
            for row in range(rows):
                axes[place // columns * rows + row, place % columns].axis("off")
        return Board(figure, shown, rows, axes)

    def at(self, row: int, name: str) -> Axes:
        """The panel of a name."""
        place, columns = self.names.index(name), self.axes.shape[1]
        axis: Axes = self.axes[place // columns * self.rows + row, place % columns]
        return axis

    def dress(self, source: Results, row: int, name: str, *, x: str, y: str) -> None:
        """The scenario's title above its first panel, `x` below its last, `y` at the first of a line."""
        axis = self.at(row, name)
        if row == 0:
            axis.set_title(source.plan.titles.get(name, ""))
        if row + 1 == self.rows:
            axis.set_xlabel(x)
        if self.names.index(name) % self.axes.shape[1] == 0:
            axis.set_ylabel(y)
