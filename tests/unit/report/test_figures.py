"""Where panels stand, what axes show, and what the overview says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text
from PIL import Image

from sifu.catalog.methods import METHODS
from sifu.plan.report_plan import ReportPlan
from sifu.report.figures import budgets, overview, requests, sigma
from sifu.report.figures.alpha import _points
from sifu.report.figures.board import Board
from sifu.report.figures.style import colours, grid, legend, lines, log_ticks, method_colour, scale
from sifu.report.frontier import frontier as frontier_table
from sifu.report.grades import GRADES, by_twins, grade
from sifu.report.image import DPI, write_figure
from sifu.report.results import Results
from sifu.report.standings import standings
from sifu.report.statistics import intervals, long_form, lost
from sifu.report.totals import request_totals
from sifu.store.schemas import CELLS

_KEYS = ["scenario", "variant", "stop", "request"]


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


def crossed(axis: Axes) -> list[list[float]]:
    """Where an axis has crosses."""
    return [point for line in axis.lines if line.get_marker() == "x" for point in line.get_xydata().tolist()]


def source_of(labels: dict[str, str]) -> Results:
    """Methods alone: nothing was run."""
    methods = {name: name for name in labels}
    return Results(ReportPlan("", labels=labels, methods=methods, shown=list(labels)))


def plain_results(labels: dict[str, str]) -> Results:
    """The same with one scenario s without marks."""
    methods = {name: name for name in labels}
    return Results(ReportPlan("", {"s": "S"}, labels, methods, shown=list(labels), marks={"s": "plain"}))


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
    assert (image.mode, image.size, round(image.info["dpi"][0])) == ("P", (800, 500), DPI)
    pixels = np.asarray(image.convert("RGB")).reshape(-1, 3).astype(int)
    for wanted in [(1.0, 1.0, 1.0), *colours()]:
        near = np.abs(pixels - np.round(255 * np.array(wanted))).max(1) <= 1
        assert near.sum() > 1000, wanted


def test_short_is_a_mean_with_a_seed_that_did_not_get_there() -> None:
    """Both seeds of set 0 are done; of set 1 one was stopped; of set 2 one diverged, of set 3 all: their 1 round is no
    measure of speed, though their accuracy is one of forgetting.
    """
    rows = [(0, "done", 1.0), (0, "done", 3.0), (1, "done", 1.0), (1, "not_reached", 3.0), (2, "done", 2.0)]
    rows += [(2, "diverged", 1.0), (3, "diverged", 1.0), (3, "diverged", 0.0)]
    table = pd.DataFrame(rows, columns=["set", "status", "rounds"]).assign(accuracy=0.5)
    found = intervals(table, ["set"], "rounds")
    assert found[["set", "mean", "short"]].to_numpy().tolist() == [[0, 2.0, False], [1, 2.0, True], [2, 2.0, True]]
    assert intervals(table, ["set"], "accuracy")["mean"].tolist() == [0.5] * 4
    assert lost(table, ["set"])["set"].tolist() == [3]


def test_a_sigma_under_which_every_seed_diverges_has_a_cross() -> None:
    """Rounds of 1 at sigma = 1 would be the fastest."""
    source = Results(ReportPlan("", titles={"s": "S"}))
    sweep = pd.DataFrame({"sigma": [0.1, 1.0], "rounds": [60, 1], "forget_accuracy": [0.5, 0.1]})
    source.__dict__["sweep"] = sweep.assign(
        scenario="s", variant="sifu", request=1, seed=0, status=["done", "diverged"]
    )
    source.__dict__["statistics"] = pd.DataFrame(columns=[*_KEYS, "quantity", "subset", "mean"])
    rounds, shares = sigma.draw(source).axes
    assert rounds.get_ylim()[0] > 2, "nothing is drawn at 1"
    assert (crossed(rounds), crossed(shares)) == ([[1.0, 0.97]], [])


def test_a_sweep_in_which_all_seeds_diverge_is_drawn() -> None:
    source = Results(ReportPlan("", titles={"s": "S"}))
    sweep = pd.DataFrame({"sigma": [0.1, 1.0], "rounds": [1, 1], "forget_accuracy": [None, None]})
    source.__dict__["sweep"] = sweep.assign(scenario="s", variant="sifu", request=1, seed=0, status="diverged")
    source.__dict__["statistics"] = pd.DataFrame(columns=[*_KEYS, "quantity", "subset", "mean"])
    rounds, shares = sigma.draw(source).axes
    assert (crossed(rounds), crossed(shares)) == ([[0.1, 0.97], [1.0, 0.97]], [])


def test_sigma_and_budgets_show_the_first_request_alone() -> None:
    """60 rounds of the first request, and 500 of the second, which is not drawn; nor is its gap of 0.9."""
    source = plain_results({"sifu": "SIFU"})
    sweep = pd.DataFrame({"request": [1, 2], "rounds": [60, 500], "forget_accuracy": [0.1, 0.9]})
    source.__dict__["sweep"] = sweep.assign(scenario="s", variant="sifu", sigma=0.1, seed=0, status="done")
    gaps = pd.DataFrame({"request": [1, 2], "mean": [0.1, 0.9]})
    gaps = gaps.assign(scenario="s", variant="sifu", stop="budget_25", quantity="gap_to_scratch", subset="retain")
    source.__dict__["statistics"] = gaps.assign(low=gaps["mean"], high=gaps["mean"], short=False)
    drawn = [figure.draw(source).axes[0].containers for figure in (sigma, budgets)]
    assert [[bar.lines[0].get_ydata().tolist() for bar in bars] for bars in drawn] == [[[60.0]], [[0.1]]]
    assert "first request" in sigma.TITLE
    assert "first request" in budgets.TITLE


def test_a_dip_is_seen_next_to_rounds_that_were_stopped() -> None:
    """Rounds of the sigma sweep are drawn to a logarithmic scale, shares are not."""
    source = Results(ReportPlan("", titles={"s": "S"}))
    sweep = pd.DataFrame({"sigma": [0.01, 0.1, 1.0], "rounds": [60, 50, 4000], "forget_accuracy": [0.0, 0.1, 0.2]})
    source.__dict__["sweep"] = sweep.assign(
        scenario="s", variant="sifu", request=1, seed=0, status=["done", "done", "not_reached"]
    )
    source.__dict__["statistics"] = pd.DataFrame(columns=[*_KEYS, "quantity", "subset", "mean"])
    rounds, shares = sigma.draw(source).axes
    assert (rounds.get_yscale(), shares.get_yscale()) == ("log", "linear")
    assert rounds.get_ylim()[0] > 10


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


def answers(**variants: list[tuple[float, float, str]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cells and metrics of scenario s: of each variant the steps, accuracy on the forgotten and status of its seeds,
    over two requests of which only the second may fall short of the target.
    """
    cells, metrics = [], []
    for variant, seeds in variants.items():
        for seed, (steps, accuracy, status) in enumerate(seeds):
            for request in (1, 2):
                key = {"scenario": "s", "variant": variant, "stop": "target", "seed": seed, "request": request}
                ended = status if request == 2 or status == "refused" else "done"
                promise = dict.fromkeys(("claimed_epsilon", "claimed_delta"))
                cells.append(key | {"client_steps": steps / 2, "spare_steps": None, "status": ended} | promise)
                metrics.append(key | {"metric": "accuracy", "subset": "forgotten", "value": accuracy})
    return pd.DataFrame(cells), pd.DataFrame(metrics)


def overview_of(
    labels: dict[str, str], twins: Sequence[tuple[object, ...]] = (), **variants: list[tuple[float, float, str]]
) -> list[str]:
    """The words next to the bars, and in place of them, from top to bottom; `twins`: rows of the twin test."""
    source = plain_results(labels)
    source.__dict__["cells"], source.__dict__["metrics"] = answers(**variants)
    source.__dict__["forgetting"] = pd.DataFrame(
        twins, columns=["scenario", "variant", "forgotten", "client", "twins_auc"]
    )
    (axis,) = overview.draw(source).axes
    return [text.get_text() for text in axis.texts]


SCRATCH = [(100.0, 0.2, "done"), (200.0, 0.2, "done")]


def test_totals_are_ratios_seed_by_seed_over_all_requests() -> None:
    """50 / 100 and 50 / 200: 0.375 in the mean. A seed that fell short of the target counts in no mean of costs."""
    half = [(50.0, 0.3, "done"), (50.0, 0.2, "done")]
    short = [(50.0, 0.3, "done"), (1.0, 0.9, "not_reached")]
    found = request_totals(*answers(scratch=SCRATCH, half=half, short=short)).set_index("variant")
    assert found.loc["half", ["seeds", "recovered", "compared"]].tolist() == [2, 2, 2]
    assert found.loc["half", ["cost", "gap"]].tolist() == pytest.approx([0.375, 0.05])
    assert found.loc["short", ["seeds", "recovered", "compared"]].tolist() == [2, 1, 1]
    assert found.loc["short", ["cost", "gap", "gap_of_all"]].tolist() == pytest.approx([0.5, 0.1, 0.4])
    assert found.loc["scratch", ["cost", "gap"]].tolist() == [1.0, 0.0]


def test_spare_clients_of_the_training_are_paid_alike_everywhere() -> None:
    """10 spare steps with the first request: (25 + 10) / 50 and (25 + 10) / 100 of it, 60 / 100 and 60 / 200 of all."""
    cells, metrics = answers(scratch=SCRATCH, half=[(50.0, 0.3, "done"), (50.0, 0.2, "done")])
    first = (cells["variant"] == "half") & (cells["request"] == 1)
    cells["spare_steps"] = first * 10
    assert request_totals(cells, metrics).set_index("variant").loc["half", "cost"] == pytest.approx(0.45)
    whole = pd.DataFrame(cells, columns=[column.name for column in CELLS.columns])
    numbers = long_form(whole, metrics)
    half = numbers[(numbers["variant"] == "half") & (numbers["request"] == 1)].set_index("quantity")["value"]
    assert half["steps_to_scratch"].tolist() == [0.7, 0.35]
    assert half["speed_up"].tolist() == pytest.approx([1 / 0.7, 1 / 0.35])
    assert half["client_steps"].tolist() == [25, 25], "the table's own column is as it was"
    promised = whole.assign(claimed_epsilon=0.0, claimed_delta=0.0)
    table = frontier_table(promised, promised.iloc[:0]).set_index("variant")
    assert table.loc["half", "cost"] == pytest.approx(0.45)


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        (0.0, "forgotten"),
        (0.03, "forgotten"),
        (0.04, "in part"),
        (0.1, "in part"),
        (0.11, "not forgotten"),
        (-0.03, "forgotten"),
        (-0.2, "less accurate than scratch"),
    ],
)
def test_forgetting_is_graded_by_the_gap_to_scratch(gap: float, words: str) -> None:
    assert grade(gap).words == words
    assert grade(gap, original=0.5).words == words
    assert grade(gap, original=0.1).words == "cannot tell"
    assert grade(float("nan")).words == "cannot tell"


def test_the_overview_says_what_each_bar_is() -> None:
    """A cost of 25% with scratch's accuracy, one of 400%, one that recovers from the first of two requests alone, one
    that is refused, one that did not forget; the original model has no bar.
    """
    found = overview_of(
        {name: name for name in ("scratch", "sifu", "fed_eraser", "last", "fed_accum", "fine_tuning", "original")},
        scratch=SCRATCH,
        sifu=[(25.0, 0.2, "done"), (50.0, 0.2, "done")],
        fed_eraser=[(400.0, 0.25, "done"), (800.0, 0.25, "done")],
        last=[(1.0, 0.0, "not_reached"), (1.0, 0.0, "diverged")],
        fed_accum=[(0.0, 0.0, "refused"), (0.0, 0.0, "refused")],
        fine_tuning=[(10.0, 0.9, "done"), (20.0, 0.9, "done")],
        original=[(0.0, 0.95, "not_reached"), (0.0, 0.95, "not_reached")],
    )
    assert found == ["100% ✓", "25% ✓", "400% ~", "recovers in 0 of 2 seeds", "refuses this scenario", "10% ✗"]


def test_a_method_that_recovers_from_some_requests_does_not_never_recover() -> None:
    """Last recovers from the first request alone, in both seeds; FedAccum from none."""
    short = [(10.0, 0.2, "diverged"), (10.0, 0.2, "diverged")]
    cells, metrics = answers(scratch=SCRATCH, last=short, fed_accum=short)
    cells.loc[cells["variant"] == "fed_accum", "status"] = "diverged"
    source = plain_results({"scratch": "Scratch", "last": "Last", "fed_accum": "FedAccum"})
    source.__dict__["cells"], source.__dict__["metrics"] = cells, metrics
    source.__dict__["forgetting"] = pd.DataFrame(columns=["scenario", "variant", "forgotten", "client", "twins_auc"])
    _, last, accum = standings(source)
    assert (last.words, last.short_words) == (
        "recovers from all requests in 0 of 2 seeds",
        "recovers in 0 of 2 seeds",
    )
    assert (accum.words, accum.short_words) == ("never recovers", "never recovers")


def test_a_long_bar_is_cut_off_and_marked() -> None:
    labels = {"scratch": "Scratch", "last": "Last"}
    source = plain_results(labels)
    source.__dict__["cells"], source.__dict__["metrics"] = answers(scratch=SCRATCH, last=[(300.0, 0.2, "done")] * 2)
    source.__dict__["forgetting"] = pd.DataFrame(columns=["scenario", "variant", "forgotten", "client", "twins_auc"])
    (axis,) = overview.draw(source).axes
    widths = sorted(bar.get_width() for bars in axis.containers for bar in bars)  # type: ignore[attr-defined]
    assert widths == [1.0, overview.CUT]
    assert len([line for line in axis.lines if line.get_color() == "white"]) == 2


def test_accuracy_cannot_tell_where_the_original_model_is_as_accurate_as_scratch() -> None:
    untouched = [(0.0, 0.25, "not_reached"), (0.0, 0.25, "done")]
    labels = {"scratch": "Scratch", "original": "Original", "sifu": "SIFU"}
    found = overview_of(labels, scratch=SCRATCH, original=untouched, sifu=[(50.0, 0.2, "done"), (100.0, 0.2, "done")])
    assert found == ["100% ?", "50% ?"]


def test_a_method_that_is_not_planned_has_no_words() -> None:
    """All three were run on t. On s `last` is planned and was not run, and `puf` is not planned."""
    labels = {name: name for name in ("scratch", "last", "puf")}
    plan = replace(plain_results(labels).plan, titles={"s": "S", "t": "T"}, marks={"s": "plain", "t": "plain"})
    source = Results(replace(plan, variants={"s": ["scratch", "last"], "t": list(labels)}))
    tables = zip(answers(scratch=SCRATCH), answers(**dict.fromkeys(labels, SCRATCH)), strict=True)
    joined = [pd.concat([here, there.assign(scenario="t")]) for here, there in tables]
    source.__dict__["cells"], source.__dict__["metrics"] = joined
    source.__dict__["forgetting"] = pd.DataFrame(columns=["scenario", "variant", "forgotten", "client", "twins_auc"])
    words = [[text.get_text() for text in axis.texts] for axis in overview.draw(source).axes]
    assert words == [["100% ✓", "not run"], ["100% ✓"] * 3]


def test_the_overview_has_at_most_14_methods() -> None:
    labels = {"scratch": "Scratch"} | {f"v{number}": f"V{number}" for number in range(20)}
    found = overview_of(labels, **dict.fromkeys(labels, SCRATCH))
    assert len(found) == overview.MAX_METHODS == 14


def test_the_twin_test_decides_where_it_was_made() -> None:
    """By accuracy SIFU forgot, by twins it did not: one request that is remembered is enough."""
    tests = [("s", "sifu", "yes", -1, 0.5), ("s", "sifu", "no", -1, 0.9), ("s", "sifu", "yes", 3, 0.5)]
    half = [(50.0, 0.2, "done"), (100.0, 0.2, "done")]
    labels = {"scratch": "Scratch", "sifu": "SIFU"}
    assert overview_of(labels, scratch=SCRATCH, sifu=half) == ["100% ✓", "50% ✓"]
    assert overview_of(labels, tests, scratch=SCRATCH, sifu=half) == ["100% ✓", "50% ✗*"]
    assert [by_twins(found).words for found in (["yes"], ["yes", "cannot tell"], ["nothing to forget"])] == [
        "forgotten",
        "cannot tell",
        "cannot tell",
    ]


def test_a_certificate_has_a_word_at_its_bar() -> None:
    """Noise of 1 hides Psi of 0.1 and not 10: kept, broken; without a count nobody knows."""
    labels = {name: name for name in ("scratch", "sifu", "last", "fed_eraser")}
    source = plain_results(labels)
    cells, source.__dict__["metrics"] = answers(**dict.fromkeys(labels, SCRATCH))
    psi = cells["variant"].map({"sifu": 0.1, "last": 10.0})
    counts = dict.fromkeys(("single_psi", "strict_psi", "everyone_psi"), psi)
    promised = cells["variant"].isin(["sifu", "last"]).map({True: 1.0, False: None})
    claim = {"claimed_epsilon": promised, "claimed_delta": promised * 0.01, "sigma": 1.0, "covers": 1}
    source.__dict__["cells"] = cells.assign(**counts, **claim)
    source.__dict__["forgetting"] = pd.DataFrame(columns=["scenario", "variant", "forgotten", "client", "twins_auc"])
    (axis,) = overview.draw(source).axes
    words = [text.get_text() for text in axis.texts]
    assert words == ["100% ✓", "100% ✓", "kept", "100% ✓", "broken", "100% ✓", "certificate"]


def test_type_and_colours_can_be_read() -> None:
    """On a page of 840 dots, 8.75 inches, nothing is below 7 points; no colour of a grade or of SIFU is used twice."""
    source = plain_results({"scratch": "Scratch"})
    source.__dict__["cells"], source.__dict__["metrics"] = answers(scratch=SCRATCH)
    source.__dict__["forgetting"] = pd.DataFrame(columns=["scenario", "variant", "forgotten", "client", "twins_auc"])
    figure = overview.draw(source)
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    shown = min(1.0, 840 / 96 / figure.get_figwidth())
    assert min(text.get_fontsize() for text in texts) * shown >= 7
    assert len({one.colour for one in GRADES}) == len({one.sign for one in GRADES}) == len(GRADES)
    others = [method_colour(name, place) for place, name in enumerate(METHODS.own) if name != "sifu"]
    assert method_colour("sifu", 0) not in others
