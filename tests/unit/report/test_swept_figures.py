"""Figures over a setting: sigma, and any other; which marks are means of seeds that did not all get there."""

from __future__ import annotations

import pandas as pd

from sifu.plan.report_plan import ReportPlan
from sifu.report.figures import budgets, setting_sweep, sigma
from sifu.report.results import Results
from sifu.report.statistics import intervals, lost
from tests.unit.report.plain_results import crossed, plain_results

_KEYS = ["scenario", "variant", "stop", "request"]


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


def test_values_of_a_setting_stand_side_by_side() -> None:
    """0, 1 and 50 epochs at 0, 1 and 2: before the recovery 0 to 0.9 is known of the forgotten, after it 0 to 0.2.

    The longest distillation diverged on its only seed: no rounds, a cross. Lines: the original at 0.95, scratch at 0.1.
    """
    source = plain_results({"original": "Original", "scratch": "Scratch"})
    rows = pd.DataFrame({"value": [0.0, 1.0, 50.0], "status": ["done", "done", "diverged"], "rounds": [60, 50, 3]})
    rows = rows.assign(forget_accuracy=[0.0, 0.2, None], retain_accuracy=[0.9, 0.9, None])
    rows = rows.assign(start_forget_accuracy=[0.0, 0.8, 0.9], start_retain_accuracy=[0.4, 0.8, 0.85])
    key = {"scenario": "s", "variant": "subtract_and_distil", "setting": "epochs", "seed": 0}
    source.__dict__["setting_sweep"] = rows.assign(**key)
    known = pd.DataFrame({"variant": ["original", "scratch"], "mean": [0.95, 0.1]}).assign(
        subset="forgotten", request=1
    )
    known = known.assign(scenario="s", stop="target", quantity="accuracy")
    source.__dict__["statistics"] = known
    forget, retain, rounds = setting_sweep.draw(source).axes
    lines = [bar.lines[0].get_xydata().tolist() for bar in forget.containers]
    assert lines == [[[0, 0.0], [1, 0.8], [2, 0.9]], [[0, 0.0], [1, 0.2]]]
    levels = {line.get_label(): line.get_ydata()[0] for line in forget.lines if len(set(line.get_xdata())) == 2}
    assert {"Original": 0.95, "Scratch": 0.1}.items() <= levels.items()
    assert [label.get_text() for label in rounds.get_xticklabels()] == ["0", "1", "50"]
    assert ([bar.lines[0].get_xydata().tolist() for bar in rounds.containers], crossed(rounds)) == (
        [[[0, 60.0], [1, 50.0]]],
        [[2.0, 0.97]],
    )
    assert rounds.get_xlabel() == "epochs (subtract_and_distil)"
    assert retain.get_ylabel() == "accuracy on the remaining"


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
