"""Where panels stand, and what axes show."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.axes import Axes

from sifu.report.figures.board import Board
from sifu.report.figures.style import grid, lines, log_ticks, whole_range
from sifu.report.plan import Plan, Source


@pytest.mark.parametrize(
    ("count", "shape"), [(0, (2, 1)), (1, (2, 1)), (5, (2, 5)), (6, (4, 3)), (10, (4, 5)), (13, (6, 5))]
)
def test_a_line_that_is_full_starts_another(count: int, shape: tuple[int, int]) -> None:
    """Two panels a scenario, at most five scenarios a line, lines of about the same length."""
    names = [f"s{i}" for i in range(count)]
    board = Board.of(names, 2)
    assert board.axes.shape == shape
    panels = {board.at(row, name) for name in board.names for row in range(2)}
    assert len(panels) == 2 * max(1, count)
    assert {axis for axis in board.axes.flat if axis.axison} == panels, "places that are left over are blank"


def axis_of() -> Axes:
    axis: Axes = grid(1, 1)[1][0, 0]
    return axis


def test_methods_do_not_hide_each_other_at_a_single_budget() -> None:
    labels = {"scratch": "Scratch", "sifu": "SIFU"}
    source = Source(
        Plan("", {}, [], labels, {name: name for name in labels}, list(labels), {}, {}, {}, [], [], [], [], [], {})
    )
    source.__dict__["cells"] = pd.DataFrame(columns=["stop", "request", "spent_epsilon", "variant"])
    rows = [{"variant": name, "budget": 50, "mean": 0.1, "low": 0.1, "high": 0.1} for name in labels]
    axis = axis_of()
    lines(axis, source, pd.DataFrame(rows), "budget")
    places = [float(drawn.lines[0].get_xdata()[0]) for drawn in axis.containers]  # type: ignore[attr-defined]
    assert len(set(places)) == 2
    assert sum(places) / 2 == pytest.approx(50)


def test_rounds_start_at_zero_and_equal_shares_look_equal() -> None:
    rounds, shares = axis_of(), axis_of()
    rounds.plot([1, 2], [40, 44])
    whole_range(rounds, rounds=True)
    assert rounds.get_ylim()[0] == 0
    shares.plot([1, 2], [0.001, 0.0])
    whole_range(shares, rounds=False)
    assert shares.get_ylim()[1] == 0.1


@pytest.mark.parametrize(("low", "high"), [(0.3, 0.9), (0.12, 0.8), (0.01, 0.4), (1e-4, 10.0), (2.0, 7.0)])
def test_a_logarithmic_axis_always_has_labels(low: float, high: float) -> None:
    axis = axis_of()
    axis.plot([low, high], [low, high])
    axis.set(xscale="log", yscale="log")
    log_ticks(axis, "x")
    left, right = axis.get_xlim()
    shown = [tick for tick in axis.get_xticks() if left <= tick <= right]
    assert 1 <= len(shown) <= 7
