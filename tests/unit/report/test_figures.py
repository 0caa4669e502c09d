"""Where panels stand, and what axes show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from PIL import Image

from sifu.catalog.methods import METHODS
from sifu.plan.report_plan import ReportPlan
from sifu.report.figures import alpha, requests
from sifu.report.figures.alpha import _points
from sifu.report.figures.board import Board
from sifu.report.figures.lineage import lineage
from sifu.report.figures.style import colours, grid, legend, lines, log_ticks, scale, style
from sifu.report.image import DPI, write_figure
from sifu.report.results import Results
from tests.unit.report.plain_results import crossed, plain_results


@pytest.mark.parametrize(
    ("count", "shape"), [(0, (2, 1)), (1, (2, 1)), (3, (2, 3)), (4, (4, 2)), (5, (4, 3)), (6, (4, 3)), (13, (4, 3))]
)
def test_a_line_that_is_full_starts_another(count: int, shape: tuple[int, int]) -> None:
    """Two panels a scenario, at most three scenarios a line and twelve panels, lines of about the same length."""
    names = [f"s{i}" for i in range(count)]
    board = Board.of(names, 2)
    assert board.axes.shape == shape
    panels = {board.at(row, name) for name in board.names for row in range(2)}
    assert len(panels) == 2 * min(6, max(1, count))
    assert {axis for axis in board.axes.flat if axis.axison} == panels, "places that are left over are blank"


def axis_of() -> Axes:
    axis: Axes = grid(1, 1)[1][0, 0]
    return axis


def source_of(labels: dict[str, str]) -> Results:
    """Methods alone: nothing was run."""
    methods = {name: name for name in labels}
    return Results(ReportPlan("", labels=labels, methods=methods, shown=list(labels)))


def test_methods_do_not_hide_each_other_at_a_single_budget() -> None:
    labels = {"scratch": "Scratch", "sifu": "SIFU"}
    source = source_of(labels)
    rows = [{"variant": name, "budget": 50, "mean": 0.1, "low": 0.1, "high": 0.1} for name in labels]
    axis = axis_of()
    lines(axis, source, pd.DataFrame(rows), "budget")
    places = [float(drawn.lines[0].get_xdata()[0]) for drawn in axis.containers]  # type: ignore[attr-defined]
    assert len(set(places)) == 2
    assert sum(places) / 2 == pytest.approx(50)


@pytest.mark.parametrize(("count", "spread"), [(2, 0.08), (6, 0.4), (10, 0.6)])
def test_marks_stay_nearer_to_their_own_place_than_to_the_next(count: int, spread: float) -> None:
    """0.08 of the smallest step between places (1, though the places reach from 0 to 20) apart, in all 0.6 at most."""
    labels = {name: name for name in list(METHODS)[:count]}
    rows = [{"variant": name, "set": place} for name in labels for place in (0, 1, 20)]
    part = pd.DataFrame(rows).assign(mean=0.1, low=0.1, high=0.1)
    axis = axis_of()
    lines(axis, source_of(labels), part, "set")
    first = [float(drawn.lines[0].get_xdata()[0]) for drawn in axis.containers]  # type: ignore[attr-defined]
    assert max(first) - min(first) == pytest.approx(spread)


def test_marks_of_what_did_not_get_there_are_hollow() -> None:
    """Two requests, the second fell short: one white mark over its own, and a line of the legend that says so, last."""
    part = pd.DataFrame({"variant": "sifu", "request": [1, 2], "mean": [9.0, 4.0], "low": [9.0, 4.0]})
    part = part.assign(high=part["mean"], short=[False, True])
    figure, axes = grid(1, 1)
    lines(axes[0, 0], source_of({"sifu": "SIFU"}), part, "request")
    white = [line for line in axes[0, 0].lines if line.get_markerfacecolor() == "white" and len(line.get_xdata())]
    assert [line.get_xydata().tolist() for line in white] == [[[2.0, 4.0]]]
    legend(figure)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "SIFU",
        "hollow: target not met on\nevery seed",
    ]


def test_variants_of_a_method_can_be_told_apart() -> None:
    """As it is and as released a method keeps its look, whatever else is there; seven others have their own."""
    others = [f"sifu_{word}" for word in ("one", "two", "three", "four", "five", "six", "seven")]
    names = [*others, "sifu", "sifu_released"]
    plan = ReportPlan("", labels=dict(zip(names, names, strict=True)), methods=dict.fromkeys(names, "sifu"))
    source = Results(plan)
    looks = [(to_hex(look["color"]), look["fillstyle"]) for look in (style(source, name) for name in names)]
    assert len(set(looks)) == len(looks)
    assert looks[-2] == ("#0072b2", "full")
    assert looks[-1][1] == "full"
    assert {style(source, name)["marker"] for name in names} == {style(source, "sifu")["marker"]}
    drawn = Results(replace(plan, shown=["sifu_two"]))
    assert style(drawn, "sifu_two")["color"] == style(source, "sifu")["color"], "what figures show comes first"


@pytest.mark.parametrize("panels", [1, 3])
def test_a_legend_stands_below_the_panels_and_within_the_figure(panels: int) -> None:
    """Fourteen methods with long names: on a phone a key at the right would leave the panels no room."""
    figure, axes = grid(1, panels)
    for number in range(14):
        axes[0, 0].plot([0, 1], [0, number], label=f"a method with a name, number {number}")
    legend(figure)
    figure.draw_without_rendering()
    key, panel = figure.legends[0].get_window_extent(), axes[0, 0].get_tightbbox()
    assert key.y1 <= panel.y0
    assert 0 <= key.x0 < key.x1 <= figure.bbox.x1
    assert axes[0, 0].get_window_extent().height > 0.6 * 2.5 * figure.dpi, "panels keep their height"


def test_maps_of_alpha_have_no_empty_cells() -> None:
    """S was run under two settings, T and U under their own: a map a bound of S, and one of T and U."""
    titles = {"s": "S", "t": "T", "u": "U"}
    source = Results(ReportPlan("", titles=titles, changes={"slow": "eta = 0.1", "none": "never run"}))
    ran = [("s", ""), ("s", "slow"), ("t", ""), ("u", "")]
    table = pd.DataFrame(ran, columns=["scenario", "change"]).assign(request=0, seed=0, client=0, round=1, alpha=1.0)
    bounds = dict(zip(("published", "released", "strict", "empty_seats"), (0.5, 0.5, 2.0, 1.0), strict=True))
    source.__dict__["alpha"] = table.assign(**{f"psi_{rule}": psi for rule, psi in bounds.items()})
    figure = alpha.draw(source)
    shares = [axis.images[0].get_array() for axis in figure.axes if axis.images]
    assert [np.asarray(one).tolist() for one in shares] == [
        [[0.0, 0.0]],
        [[1.0, 1.0]],
        [[1.0, 1.0]],
        [[0.0, 1.0, 1.0]] * 2,
    ]
    maps = [axis for axis in figure.axes if axis.images]
    figure.draw_without_rendering()
    rows = [[one.get_text() for one in axis.get_yticklabels() if one.get_visible()] for axis in maps]
    assert rows == [["S"], [], [], ["T", "U"]]
    assert figure.axes[-1].get_title() == "example: S, its own settings"


def test_what_diverged_on_every_seed_has_a_cross_at_the_top() -> None:
    """Last has rounds at its first request; at the second no seed was left, whatever accuracy it ended with."""
    source = plain_results({"last": "Last"})
    key = {"scenario": "s", "variant": "last", "stop": "target"}
    rows = [(1, "done", 0.5), (1, "rounds", 70.0), (1, "accuracy", 0.2), (2, "done", 0.0), (2, "accuracy", 0.1)]
    found = [key | {"request": at, "quantity": name, "mean": value, "low": value} for at, name, value in rows]
    table = pd.DataFrame(found).assign(subset="")
    table.loc[table["quantity"] == "accuracy", "subset"] = "forgotten"
    source.__dict__["statistics"] = table.assign(high=table["mean"], std=0.0, seeds=2)
    figure = requests.draw(source)
    assert [crossed(axis) for axis in figure.axes] == [[[2.0, 0.97]], []]
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["Last", "hollow: target not met on\nevery seed", "cross: every seed diverged"]


def test_a_model_that_explodes_does_not_press_the_others_together() -> None:
    """1 to 2 but for the last of 1,000 points; 100 times the 99th percentile, about 2, is the most that is drawn."""
    rows = pd.DataFrame({"alpha": [*np.linspace(1.0, 2.0, 999), 1e15]})
    axis = axis_of()
    _points(axis, rows.assign(psi_published=1.0, psi_released=1.0, psi_strict=2.0, psi_empty_seats=2.0))
    assert max(axis.get_xlim()) < 4
    assert axis.lines[-1].get_xydata().tolist() == [[1.0, 1.0], [2.0, 2.0]], "the line ends where points do"


def test_a_png_has_a_palette_and_the_colours_of_the_pdf(tmp_path: Path) -> None:
    """White and the ten of the methods, each its own: the nearest of the palette is a step of 256 away at most."""
    figure, axes = grid(1, 1, width=4)
    for place, colour in enumerate(colours()):
        axes[0, 0].bar(place, 1, color=colour)
    write_figure(tmp_path / "bars", figure)
    assert {path.name for path in tmp_path.iterdir()} == {"bars.pdf", "bars.png"}
    image = Image.open(tmp_path / "bars.png")
    assert (image.mode, image.size, round(image.info["dpi"][0])) == ("P", (4 * DPI, round(2.5 * DPI)), DPI)
    pixels = np.asarray(image.convert("RGB")).reshape(-1, 3).astype(int)
    for wanted in [(1.0, 1.0, 1.0), *colours()]:
        near = np.abs(pixels - np.round(255 * np.array(wanted))).max(1) <= 1
        assert near.sum() > 1000, wanted


def test_rounds_start_at_zero_and_equal_shares_look_equal() -> None:
    rounds, shares = axis_of(), axis_of()
    rounds.plot([1, 2], [40, 44])
    scale([rounds], rounds=True)
    assert rounds.get_ylim()[0] == 0
    shares.plot([1, 2], [0.001, 0.0])
    scale([shares], rounds=False)
    assert shares.get_ylim()[1] == 0.1


def test_who_never_arrives_does_not_press_the_others_together() -> None:
    axis, neighbour = axis_of(), axis_of()
    axis.errorbar([1, 2], [50, 10_000], [[0, 0], [5, 0]])
    neighbour.plot([1, 2], [40, 44])
    scale([axis, neighbour], rounds=True)
    assert axis.get_yscale() == "log"
    assert neighbour.get_yscale() == "log", "a row of panels has one kind of scale"
    low, high = axis.get_ylim()
    assert 10 < low < 50
    assert high > 10_000


@pytest.mark.parametrize(
    ("low", "high"), [(0.3, 0.9), (0.12, 0.8), (0.01, 0.4), (1e-4, 10.0), (2.0, 7.0), (500.0, 1900.0)]
)
def test_a_logarithmic_axis_always_has_labels(low: float, high: float) -> None:
    axis = axis_of()
    axis.plot([low, high], [low, high])
    axis.set(xscale="log", yscale="log")
    log_ticks(axis, "x")
    left, right = axis.get_xlim()
    shown = [tick for tick in axis.get_xticks() if left <= tick <= right]
    assert 2 <= len(shown) <= 7


def test_a_lineage_is_drawn_as_the_paper_draws_it() -> None:
    """Training 100, request 1 cuts at 40, request 2 at round 10 of branch 1, request 3 back at 20 of the training."""
    starts, kept = lineage([100, 50, 30, 60], [(0, 40), (1, 10), (0, 20)])
    assert starts == [0, 40, 50, 20]
    assert kept == [20, 0, 0, 60]
    assert lineage([10, 5], [(-1, 0)]) == ([0, 0], [0, 5])
