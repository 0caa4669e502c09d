"""The honest frontier: which certificates survive, what they cost, and their real epsilon."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from sifu.certificate.gaussian import delta_at, epsilon_at, largest_ratio
from sifu.docs.honest_saving import _means, honest_saving, honest_savings
from sifu.plan.report_plan import ReportPlan
from sifu.replication.published import Published
from sifu.report.figures import frontier as figure
from sifu.report.frontier import frontier, worth
from sifu.report.results import Results
from tests.small_replication import PLAIN, World

LIMIT = largest_ratio(10.0, 0.01, "analytic")  # the largest Psi that sigma = 1 hides
CLAIM = {"claimed_epsilon": 10.0, "claimed_delta": 0.01, "sigma": 1.0}
NUMBERS = ("strict_psi", "single_psi", "everyone_psi", "alpha", "spent_epsilon", "group_epsilon")
EMPTY = pd.DataFrame(columns=["scenario", "variant", "sigma", "seed", "request", "status"])


def cells(variant: str, steps: tuple[int, ...], status: str = "done", **numbers: float) -> pd.DataFrame:
    """Two requests of each seed, which take `steps` client steps in all."""
    promised = CLAIM | dict.fromkeys(NUMBERS, math.nan) | numbers
    rows = [
        {"scenario": "s", "variant": variant, "stop": "target", "seed": seed, "request": request, "status": status}
        | {"client_steps": total / 2}
        | promised
        for seed, total in enumerate(steps)
        for request in (1, 2)
    ]
    return pd.DataFrame(rows)


def psi(request: float, client: float, alpha: float = math.nan) -> dict[str, float]:
    return {"strict_psi": request, "single_psi": client, "everyone_psi": request, "alpha": alpha}


EXACT = {"claimed_epsilon": 0.0, "claimed_delta": 0.0, "sigma": 0.0}
SCRATCH = cells("scratch", (100, 200), **EXACT, **psi(0.0, 0.0, alpha=0.0))


@pytest.mark.parametrize(
    ("numbers", "promise"),
    [
        (psi(LIMIT, 1.0), "request"),
        (psi(1.001 * LIMIT, 1.0), "client"),
        (psi(1.001 * LIMIT, 1.001 * LIMIT), "none"),
        (psi(1.0, 1.0, alpha=0.5), "request"),
        (psi(1.0, 1.0, alpha=1.5), "measured"),  # within the noise, but Psi was no bound
        (psi(1.0, 1.0, alpha=1.001 * LIMIT), "none"),  # Psi was no bound, and so neither is that of single clients
        (psi(1.001 * LIMIT, 1.0, alpha=1.001 * LIMIT), "client"),  # what was measured keeps to its bound
        ({"strict_psi": 1.0}, "unknown"),  # rows from before seats were refilled
        ({"spent_epsilon": 9.1, "group_epsilon": 40.0, "strict_psi": 99.0}, "client"),
        ({"spent_epsilon": 2.0, "group_epsilon": 9.0}, "request"),
        ({"spent_epsilon": 12.0, "group_epsilon": 90.0}, "none"),
        (EXACT | psi(0.0, 0.0, alpha=0.0), "request"),
        (EXACT | psi(5.0, 5.0, alpha=5.0), "none"),  # it says that it is exact
    ],
)
def test_for_whom_a_certificate_holds(numbers: dict[str, float], promise: str) -> None:
    assert worth(cells("x", (1,), **numbers)).promise == promise


def test_one_broken_request_of_one_seed_breaks_a_certificate() -> None:
    rows = cells("x", (1, 1), **psi(1.0, 1.0))
    rows.loc[3, ["strict_psi", "single_psi"]] = 100.0
    assert worth(rows).promise == "none"


def test_the_real_epsilon_is_that_of_the_worst_seed() -> None:
    rows = cells("x", (1, 1), **psi(1.0, 0.5))
    rows.loc[2, "strict_psi"] = 2.0
    worst = worth(rows)
    expected = epsilon_at(0.01, torch.tensor([2.0, 0.5], dtype=torch.float64)).tolist()
    assert [worst.epsilon, worst.epsilon_client] == pytest.approx(expected)
    assert math.isnan(worst.epsilon_measured)


def test_other_points_are_of_those_for_whom_it_holds() -> None:
    """At delta = 1e-5, and at epsilon = 1 and 10: of a request, of one client, as measured, or of nobody."""

    def at(ratio: float) -> list[float]:
        one = torch.tensor([ratio], dtype=torch.float64)
        return [float(value) for value in (epsilon_at(1e-5, one), delta_at(1.0, one), delta_at(10.0, one))]

    for ratio, numbers in {2.0: psi(2.0, 1.0), 1.0: psi(9.0, 1.0), 1.5: psi(1.0, 1.0, alpha=1.5)}.items():
        assert worth(cells("x", (1,), **numbers))[5:] == pytest.approx(at(ratio))
    for lost in (psi(99.0, 99.0), {"spent_epsilon": 2.0, "group_epsilon": 9.0}):
        assert all(map(math.isnan, worth(cells("x", (1,), **lost))[5:]))


def test_epsilons_at_another_delta_are_not_compared() -> None:
    """An accountant's epsilon at delta = 0.05 is kept by its own claim, and is no epsilon at 0.01."""
    spent = {"spent_epsilon": 2.0, "group_epsilon": 9.0}
    assert worth(cells("x", (1,), **spent)).epsilon == 9.0
    other = worth(cells("x", (1,), **spent, claimed_delta=0.05))
    assert other.promise == "request"
    assert all(map(math.isnan, other[1:]))


def test_costs_are_paired_by_seed() -> None:
    """50 of 100 and 50 of 200 client steps: (1/2 + 1/4) / 2; the t interval of two values is wide."""
    table = frontier(pd.concat([SCRATCH, cells("sifu_strict", (50, 50), **psi(1.0, 1.0))]), EMPTY)
    row = table.set_index("variant").loc["sifu_strict"]
    assert row["cost"] == pytest.approx(0.375)
    assert row["cost_high"] - 0.375 == pytest.approx(12.706 * 0.125, rel=1e-4)  # t of one degree of freedom
    assert (row["seeds"], row["compared"]) == (2, 2)


def test_a_seed_without_the_target_is_not_compared() -> None:
    own = cells("sifu_strict", (50, 50), **psi(1.0, 1.0))
    own.loc[0, "status"] = "not_reached"
    row = frontier(pd.concat([SCRATCH, own]), EMPTY).set_index("variant").loc["sifu_strict"]
    assert (row["cost"], row["compared"], row["promise"]) == (0.25, 1, "request")


def test_a_sweep_counts_where_it_answered_all_requests() -> None:
    swept = pd.concat([cells("sifu_strict", (20, 20), **psi(1.0, 1.0)).assign(sigma=value) for value in (1.0, 2.0)])
    first = swept[(swept["sigma"] == 1.0) | (swept["request"] == 1)]
    assert frontier(SCRATCH, swept)["sigma"].dropna().tolist() == [1.0, 2.0]
    assert frontier(SCRATCH, first)["sigma"].dropna().tolist() == [1.0]


@pytest.mark.parametrize("refuting", [0.5, 3.0])
def test_a_bound_that_one_answer_refutes_counts_under_no_noise(refuting: float) -> None:
    """alpha = 1.5 against Psi = 1 in one answer, in the sweep or at the variant's own sigma of 3, refutes B for all.

    Under the other noise the distances that were measured still are hidden; those that were not say nothing.
    """
    own = cells("sifu_strict", (50, 50), **psi(1.0, 1.0, alpha=0.5)).assign(sigma=3.0)
    swept = cells("sifu_strict", (20, 20), **psi(1.0, 1.0, alpha=0.5)).assign(sigma=2.0)
    worse = cells("sifu_strict", (20, 20), **psi(1.0, 1.0, alpha=0.5)).assign(sigma=0.5)
    for rows in (own, worse):
        if rows["sigma"].iloc[0] == refuting:
            rows.loc[3, "alpha"] = 1.5
    table = frontier(pd.concat([SCRATCH, own]), pd.concat([swept, worse])).set_index(["variant", "noise"])
    assert table.loc[("sifu_strict", "2"), "promise"] == "measured"
    assert table.loc[("sifu_strict", "its own"), "promise"] == "measured"
    assert table.loc["sifu_strict", "epsilon"].isna().all()
    assert table.loc[("scratch", "its own"), "promise"] == "request"
    start = swept.assign(sigma=4.0, strict_psi=0.0, single_psi=0.0, everyone_psi=0.0, alpha=0.0)
    from_nothing = frontier(pd.concat([SCRATCH, own]), pd.concat([swept, worse, start])).set_index(["variant", "noise"])
    assert from_nothing.loc[("sifu_strict", "4"), "promise"] == "request", "its Psi is 0 under any B"
    swept["alpha"] = math.nan
    unmeasured = frontier(pd.concat([SCRATCH, own]), pd.concat([swept, worse])).set_index(["variant", "noise"])
    assert unmeasured.loc[("sifu_strict", "2"), "promise"] == "none"


@pytest.mark.parametrize("measured", ["by another variant", "without an answer"])
def test_what_refutes_b_in_a_scenario_refutes_it_for_all_of_its_variants(measured: str) -> None:
    """alpha = 1.5 against Psi = 1 in an answer of another variant, or in a training without clients. What is left of a
    certificate about all who were forgotten so far is not known: alpha is of the request's clients alone.
    """
    own = cells("sifu_strict", (50, 50), **psi(1.0, 1.0, alpha=0.5)).assign(covers_everyone=False)
    everyone = cells("everyone", (50, 50), **psi(1.0, 1.0, alpha=0.5)).assign(covers_everyone=True)
    other = cells("sifu", (50, 50), **psi(1.0, 1.0, alpha=0.5)).assign(covers_everyone=False)
    elsewhere = pd.concat([SCRATCH, own]).assign(scenario="t")
    refuted: set[str] = set()
    if measured == "by another variant":
        other.loc[3, "alpha"] = 1.5
    else:
        refuted = {"s"}
    rows = pd.concat([SCRATCH, own, everyone, other, elsewhere])
    table = frontier(rows, EMPTY, refuted).set_index(["scenario", "variant"])
    assert table.loc[("s", "sifu_strict"), "promise"] == "measured"
    assert table.loc[("s", "everyone"), "promise"] == "unknown"
    assert table.loc[("t", "sifu_strict"), "promise"] == "request"


def results(*parts: pd.DataFrame, sweep: pd.DataFrame = EMPTY) -> Results:
    names = list(dict.fromkeys(name for part in parts for name in part["variant"]))
    plan = ReportPlan(
        "", titles={"s": "S"}, labels={name: name for name in names}, methods=dict.fromkeys(names, "sifu"), shown=names
    )
    source = Results(ReportPlan(**(vars(plan) | {"marks": {"s": "plain"}})))
    source.__dict__.update(cells=pd.concat(parts), sweep=sweep, refuted=set())
    return source


def test_the_figure_draws_what_survives() -> None:
    strict, single = cells("strict", (50, 100), **psi(2.0, 1.0)), cells("single", (25, 50), **psi(9.0, 1.0))
    swept = cells("strict", (20, 40), **psi(1.0, 1.0)).assign(sigma=2.0)
    (axis,) = figure.draw(results(SCRATCH, strict, single, sweep=swept)).axes
    marks = {bar.get_label(): bar.lines[0] for bar in axis.containers}
    assert {name: float(line.get_xdata()[0]) for name, line in marks.items()} == {
        "scratch": 1.0,
        "strict": 0.5,
        "single": 0.25,
    }
    assert marks["single"].get_markerfacecolor() == "white"
    assert "strict, other sigmas" in {line.get_label() for line in axis.lines}


def test_what_is_known_as_measured_alone_is_pale() -> None:
    """alpha = 1.5 in one answer is beyond Psi = 1: heights are the epsilon of the largest alpha over its noise."""
    own = cells("strict", (50, 100), **psi(1.0, 1.0, alpha=0.5))
    own.loc[3, "alpha"] = 1.5
    swept = cells("strict", (20, 40), **psi(1.0, 1.0, alpha=0.5)).assign(sigma=2.0)
    (axis,) = figure.draw(results(SCRATCH, own, sweep=swept)).axes
    heights = epsilon_at(0.01, torch.tensor([1.5, 0.25], dtype=torch.float64)).tolist()
    (mark,) = [bar.lines[0] for bar in axis.containers if bar.get_label() == "strict, as measured"]
    (line,) = [line for line in axis.lines if line.get_label() == "strict, other sigmas, as measured"]
    assert [float(mark.get_ydata()[0]), float(line.get_ydata()[0])] == pytest.approx(heights)
    assert (mark.get_alpha(), line.get_linestyle()) == (0.5, ":")


def test_the_figure_leaves_out_what_scratch_alone_has_marks_in() -> None:
    """Two scenarios with a method, and one with scratch alone; both panels have the scale of the largest epsilon, 9."""
    own = [cells("strict", (50, 100), **psi(size, 1.0)) for size in (2.0, 1.0)]
    source = results(SCRATCH, own[0])
    titles = {"s": "S", "t": "T", "u": "U"}
    plan = replace(source.plan, titles=titles, marks=dict.fromkeys(titles, "plain"))
    plan.methods["scratch"] = "scratch"
    tables = [SCRATCH, own[0], *(part.assign(scenario="t") for part in (SCRATCH, own[1])), SCRATCH.assign(scenario="u")]
    drawn = Results(plan)
    drawn.__dict__.update(cells=pd.concat(tables), sweep=EMPTY)
    axes = figure.draw(drawn).axes
    assert [axis.get_title() for axis in axes] == ["S", "T"]
    assert axes[0].get_ylim() == axes[1].get_ylim()


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({}, "not measured yet"),
        (psi(99.0, 99.0), "no certificate survives"),
        ({"spent_epsilon": 2.0, "group_epsilon": 9.0, "claimed_delta": 0.05}, "no mark to draw"),
    ],
)
def test_the_figure_says_why_it_is_empty(numbers: dict[str, float], words: str) -> None:
    (axis,) = figure.draw(results(cells("x", (1, 1), **numbers))).axes
    assert [text.get_text() for text in axis.texts] == [words]


def saving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *parts: Any) -> str:
    tables = World(("mnist",), {}, marks=PLAIN).tables()
    rows = pd.concat(parts).assign(scenario="mnist")
    changed = replace(tables, cells=rows)
    monkeypatch.setattr("sifu.docs.honest_saving.read_tables", lambda folder: changed)
    World(("mnist",), {}, marks=PLAIN).write(tmp_path)
    return honest_saving(tmp_path, Published(tmp_path, tmp_path, tmp_path))


def test_the_readme_says_what_an_honest_certificate_saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strict SIFU takes half of scratch's steps; what is cheaper promises nothing to a whole request."""
    strict, single = cells("sifu_strict", (50, 100), **psi(2.0, 1.0)), cells("sifu", (25, 50), **psi(9.0, 1.0))
    again = cells("scratch_again", (1, 2), claimed_epsilon=0.0, claimed_delta=0.0)
    text = saving(tmp_path, monkeypatch, SCRATCH, strict, single, again)
    assert "saves of a retraining: 50% on MNIST. On MNIST: SIFU, strict, epsilon 6. Epsilon is at" in text
    dear = cells("sifu_strict", (110, 220), **psi(2.0, 1.0))
    text = saving(tmp_path, monkeypatch, SCRATCH, dear, single)
    assert text.endswith("saves of a retraining: nothing on MNIST.")
    blurred = cells("blurred_scratch", (60, 120), **psi(2.0, 1.0))
    text = saving(tmp_path, monkeypatch, SCRATCH, blurred)
    assert "Blurred scratch (a retraining from a noised start; the saving comes from that start, not from" in text


def test_datasets_with_the_same_answer_share_a_sentence() -> None:
    assert _means({"A": "x", "B": "y", "C": "x"}) == " On A and C: x. On B: y."
    assert _means({}) == ""


def test_the_readme_says_where_what_survives_does_not_recover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate of a model that never meets its target saves nothing, and is not broken."""
    lost = cells("sifu_strict", (50, 100), **psi(2.0, 1.0))
    lost["status"] = "not_reached"
    text = saving(tmp_path, monkeypatch, SCRATCH, lost)
    assert text.endswith("saves of a retraining: nothing on MNIST.")
    run = Published(tmp_path, tmp_path, tmp_path)
    assert honest_savings(tmp_path, run) == (
        "- MNIST: nothing (what survives seldom reaches the target after every request: SIFU, strict in 0 of 2 seeds)."
    )


def test_a_line_a_dataset_says_what_it_costs_to_save_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saving(tmp_path, monkeypatch, SCRATCH, cells("sifu_strict", (110, 220), **psi(2.0, 1.0)))
    line = honest_savings(tmp_path, Published(tmp_path, tmp_path, tmp_path))
    assert line == "- MNIST: nothing. SIFU, strict, epsilon 6, takes 110% of scratch's client steps."


def test_the_readme_says_that_nothing_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that promise something, and lack what it takes to count it."""
    text = saving(tmp_path, monkeypatch, *(cells(name, (50, 100)) for name in ("scratch", "sifu_strict")))
    assert text.endswith("saves of a retraining: not measured yet.")
