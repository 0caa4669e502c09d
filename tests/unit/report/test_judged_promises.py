"""Which promises are judged where recoveries diverge."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sifu.replication.claims.two_counts import all_promises
from sifu.report.certificates import certificates
from sifu.report.frontier import frontier
from sifu.report.judged_promises import is_judged, judged_promises
from sifu.report.statistics import long_form, over_seeds
from sifu.store.schemas import CELLS, METRICS
from sifu.unlearning.same_start import COUNTED
from tests.small_replication import PLAIN, World

SWEEP = pd.DataFrame(columns=["scenario", "variant", "sigma"])
START = {"branch": 0, "cut_round": 50, "rounds": 30, "status": "done"}
LOST = {"rounds": 4, "status": "diverged"}  # with the last finite weights after round 4


def answers(*requests: dict[str, Any], seed: int = 0, **columns: Any) -> pd.DataFrame:
    """A seed's answers, one request after another: with noise of 1 a promise of (10, 0.01) hides 2.856, Psi is 2."""
    key = {"scenario": "s", "variant": "v", "stop": "target", "seed": seed, "covers": 10}
    claim = {"claimed_epsilon": 10.0, "claimed_delta": 0.01, "sigma": 1.0}
    worth = dict.fromkeys(("strict_psi", "single_psi", "everyone_psi", "empty_psi", "alpha"), 2.0)
    worth |= {"actual_epsilon": 7.0, "actual_delta": 1e-4, "client_steps": 10.0}
    rows = [key | claim | worth | START | row | {"request": n} for n, row in enumerate(requests, start=1)]
    names = list(dict.fromkeys([*(column.name for column in CELLS.columns), *rows[0]]))
    return pd.DataFrame(rows, columns=names).assign(**columns)


def judged(*requests: dict[str, Any], **columns: Any) -> list[bool]:
    return is_judged(answers(*requests, **columns)).tolist()


def test_a_promise_is_judged_whatever_becomes_of_its_recovery() -> None:
    """Noise on a model of the training, from which every recovery diverges; without a claim nothing is judged."""
    assert judged(LOST, LOST, START | {"status": "not_reached"}) == [True] * 3
    assert judged(LOST, START, claimed_epsilon=None) == [False, False]
    assert judged({"status": "refused", "claimed_epsilon": None}) == [False]


@pytest.mark.parametrize(
    ("cut", "kept"),
    [
        (0, True),  # the model with the first request's noise
        (3, True),  # a model of the way, from which one more round was finite
        (4, False),  # the last finite one, which overflows in the next round
    ],
)
def test_what_starts_from_the_last_weights_of_a_recovery_that_diverged_is_left_out(cut: int, *, kept: bool) -> None:
    assert judged(LOST, LOST | {"branch": 1, "cut_round": cut}) == [True, kept]


def test_where_recovery_diverges_at_once_the_model_with_noise_is_what_is_left() -> None:
    """As for Last without clipping: no round was finite, and the next request adds noise to the same model."""
    at_once = {"rounds": 0, "status": "diverged"}
    assert judged(at_once, at_once | {"branch": 1, "cut_round": 0}) == [True, True]


def test_what_comes_of_lost_weights_is_lost_until_one_goes_back_or_recovers() -> None:
    """The third starts from the second's model with noise, the fourth from the training."""
    second, third = LOST | {"branch": 1, "cut_round": 4}, LOST | {"branch": 2, "cut_round": 0}
    assert judged(LOST, second, third, LOST) == [True, False, False, True]
    recovers = {"branch": 1, "cut_round": 4}
    assert judged(LOST, recovers, LOST | {"branch": 2, "cut_round": 30}) == [True, True, True]


def test_seeds_are_apart_and_rows_may_be_in_any_order() -> None:
    second = LOST | {"branch": 1, "cut_round": 4}
    rows = pd.concat([answers(LOST, second), answers(START, second, seed=1)])  # places in the index twice
    assert is_judged(rows.iloc[::-1]).tolist() == [True, True, False, True]
    assert len(judged_promises(rows)) == 3


@pytest.mark.parametrize("lacks", [{"strict_psi": math.nan}, {"sigma": math.inf}])
def test_nothing_is_judged_without_a_count_or_with_infinite_noise(lacks: dict[str, float]) -> None:
    assert judged(LOST | lacks, START | lacks) == [False, True]


def test_without_branches_as_in_sweeps_any_earlier_recovery_may_be_the_one() -> None:
    rows = answers(LOST, START, LOST | {"cut_round": 4}, LOST | {"cut_round": 0}).drop(columns=["branch", "stop"])
    assert is_judged(rows).tolist() == [True, True, False, False]


def broken() -> pd.DataFrame:
    """Two seeds: the first keeps its promise, the second has a Psi of 5 and diverges."""
    return pd.concat([answers(START), answers(LOST | _far(5.0), seed=1)], ignore_index=True)


def _far(psi: float) -> dict[str, float]:
    counts = dict.fromkeys(("strict_psi", "single_psi", "everyone_psi", "empty_psi", "alpha"), psi)
    return counts | {"actual_epsilon": 27.0, "actual_delta": 0.5}


def test_every_table_counts_the_same_promises() -> None:
    """Half of the promises are broken, and the worst Psi is 5; the cost is that of the seed that is done."""
    cells = broken()
    scratch = answers(START | {"client_steps": 20.0}, claimed_epsilon=None, variant="scratch")
    row = frontier(pd.concat([cells, scratch]), SWEEP).iloc[0]
    assert (row["promise"], row["compared"], row["cost"]) == ("none", 1, 0.5)
    request = certificates(cells).set_index("count").loc["request"]
    assert (request["kept"], request["worst_ratio"], request["seeds"]) == (0.5, 5.0, 2)
    (counted,) = all_promises(cells).counted
    assert counted.refilled is not None
    assert counted.measured is not None
    assert (counted.refilled.kept, counted.refilled.seeds, counted.measured.kept) == (1, 2, 1)
    metrics = pd.DataFrame(columns=[column.name for column in METRICS.columns])
    means = over_seeds(long_form(cells, metrics)).set_index("quantity")
    assert means["seeds"].reindex(["rounds", "client_steps", "actual_delta", "claimed_delta"]).tolist() == [1, 1, 2, 2]
    assert means.loc["actual_delta", "mean"] == pytest.approx((1e-4 + 0.5) / 2)


@pytest.mark.parametrize("left", [START, LOST])
def test_what_a_budget_promises_is_worth_is_a_mean_over_all_seeds_or_none(left: dict[str, Any]) -> None:
    """Of two seeds' rows one could be filled: alone it says nothing, also where the other one diverged."""
    rows = pd.concat([answers(START), answers(left | dict.fromkeys(_far(1.0)), seed=1)], ignore_index=True)
    metrics = pd.DataFrame(columns=[column.name for column in METRICS.columns])
    limited = long_form(rows.assign(stop="budget_33"), metrics)
    assert set(COUNTED).isdisjoint(limited["quantity"])
    assert (limited["quantity"] == "claimed_epsilon").any()
    assert "actual_epsilon" in set(long_form(rows, metrics)["quantity"]), "to the target all is as before"
    whole = over_seeds(long_form(broken().assign(stop="budget_33"), metrics)).set_index("quantity")
    assert whole["seeds"].reindex(["actual_epsilon", "claimed_epsilon"]).tolist() == [2, 2]


def test_claims_count_them_too() -> None:
    """All recoveries of SIFU diverge on MNIST: its six promises count all the same, and its rounds nowhere."""
    tables = World(("mnist",), marks=PLAIN).tables()
    rows = tables.cells["variant"].isin(["sifu", "scratch"])
    cells = tables.cells.assign(status=np.where(rows, "diverged", tables.cells["status"]), branch=0)
    lost = replace(tables, cells=cells)
    assert len(lost.promises("mnist", "sifu", "delta")) == len(tables.promises("mnist", "sifu", "delta")) == 6
    assert lost.totals("mnist", "sifu").empty
