"""Tables that people read, from cells whose numbers are on paper."""

from __future__ import annotations

import pandas as pd
import pytest

from sifu.report.bounds import bounds_by_seed, bounds_that_hold, psi_limits
from sifu.report.statistics import long_form, over_seeds
from sifu.report.tables import budgets, headline, latex, markdown
from sifu.store.schemas import CELLS, METRICS

CELL = {"scenario": "s", "stop": "target", "request": 1}
LABELS = {"scratch": "Scratch", "fast": "Fast", "lucky": "Lucky", "original": "Original"}
STEPS = {"scratch": (100, 200), "fast": (50, 50), "lucky": (0, 40), "original": (0, 0)}
ACCURACY = {"scratch": (0.0, 0.1), "fast": (0.2, 0.0), "lucky": (0.0, 0.1), "original": (1.0, 1.0)}


def table(**status: tuple[str, str]) -> pd.DataFrame:
    """Two seeds, one request; accuracies on the forgotten clients and gaps to scratch. `status`: how seeds ended."""
    cells, metrics = [], []
    for variant, steps in STEPS.items():
        for seed, cost in enumerate(steps):
            key = {"scenario": "s", "variant": variant, "stop": "target", "seed": seed, "request": 1}
            ended = status.get(variant, ("done", "done"))[seed]
            cells.append(key | {"status": ended, "rounds": cost, "client_steps": cost})
            gap = abs(ACCURACY[variant][seed] - ACCURACY["scratch"][seed])
            metrics.append(key | {"metric": "accuracy", "subset": "forget", "value": ACCURACY[variant][seed]})
            metrics.append(key | {"metric": "gap_to_scratch", "subset": "forget", "value": gap})
    frame = pd.DataFrame(cells, columns=[column.name for column in CELLS.columns])
    measured = pd.DataFrame(metrics, columns=[column.name for column in METRICS.columns])
    return headline(over_seeds(long_form(frame, measured)), LABELS).set_index("method")


def test_a_speed_up_is_paired_and_never_infinite() -> None:
    """100 / 50 and 200 / 50: 2 and 4, 3 in the mean; the interval of two values are these. 0 steps are no ratio."""
    assert table()["speed-up"].to_dict() == {
        "Scratch": "1.00 [1.00, 1.00; t 1.00, 1.00]",
        "Fast": "3.00 [2.00, 4.00; t -9.71, 15.71]",  # 3 -+ 12.706 * 1
        "Lucky": "no cost in 1 of 2",
        "Original": "no cost",
    }
    assert table().loc["Fast", "cost / scratch"] == "0.375 [0.250, 0.500; t -1.213, 1.963]"


COSTS = ["target met", "rounds", "cost / scratch", "speed-up"]


def test_what_did_not_get_there_does_not_look_fast() -> None:
    """Fast is done at 50 and stopped at 50: 50 or more in the mean; Lucky is stopped at 0 and at 40: 20 or more. What
    diverged has no rounds, and leaves a lower bound, too. Scratch's row is as it was.
    """
    found = table(fast=("done", "not_reached"), lucky=("not_reached", "not_reached"))[COSTS]
    assert found.loc["Fast"].tolist() == ["1 of 2 [1%, 99%]", ">= 50", "-", "-"]
    assert found.loc["Lucky"].tolist() == ["0 of 2 [0%, 84%]", ">= 20", "-", "-"]
    assert found.loc["Scratch"].tolist() == table().loc["Scratch", COSTS].tolist()
    lost = table(fast=("done", "diverged"), lucky=("diverged", "diverged"))[COSTS]
    assert lost.loc["Fast"].tolist() == ["1 of 2 [1%, 99%]", ">= 50", "-", "-"]
    assert lost.loc["Lucky"].tolist() == ["0 of 2 [0%, 84%]", "-", "-", "-"]
    assert r"$\geq$ 50 & -" in latex(found.reset_index(), "")


def test_nothing_is_compared_with_a_scratch_that_did_not_get_there() -> None:
    """It was stopped at 100, so that 100 / 50 is too small a speed-up; without any ratio there is no column of them."""
    found = table(scratch=("not_reached", "done"))
    assert found.loc["Fast", COSTS[:2]].tolist() == ["2 of 2 [16%, 100%]", "50 [50, 50]"]
    assert found.loc["Scratch", COSTS[:2]].tolist() == ["1 of 2 [1%, 99%]", ">= 150"]
    assert not {"cost / scratch", "speed-up"} & set(found)


def test_a_gap_is_that_of_the_seed() -> None:
    """|0.2 - 0| and |0 - 0.1|: 0.15 in the mean, though the means of the accuracies differ by 0.05."""
    assert table().loc["Fast", "forget gap"] == "0.150 [0.100, 0.200; t -0.485, 0.785]"
    assert table().loc["Fast", "forget accuracy"] == "0.100 [0.000, 0.200]"


def test_in_every_format() -> None:
    rows = table().reset_index()
    fast = "| Fast | s | 1 | 2 of 2 [16%, 100%] | 50 [50, 50] | 0.375 [0.250, 0.500; t -1.213, 1.963] |"
    assert fast in markdown(rows, "")
    assert r"no cost in 1 of 2 &" in latex(rows, "")
    assert '"3.00 [2.00, 4.00; t -9.71, 15.71]"' in rows.to_csv(index=False)


def test_what_is_spent_is_said_for_each_scenario_and_request() -> None:
    """B spends 1,234.5 in s and 2,000 in t, by the second request 1,500 and 3,000; C spends nothing of the kind."""
    spent = {("b", "s"): (1234.5, 1500.0), ("b", "t"): (2000.0, 3000.0), ("c", "s"): (None, None)}
    cells = [
        {"scenario": scenario, "variant": variant, "stop": "target", "seed": 0, "request": request, "status": "done"}
        | {"rounds": 1, "client_steps": 1, "spent_epsilon": epsilon}
        for (variant, scenario), numbers in spent.items()
        for request, epsilon in enumerate(numbers, start=1)
    ]
    frame = pd.DataFrame(cells, columns=[column.name for column in CELLS.columns])
    numbers = over_seeds(long_form(frame, pd.DataFrame(columns=[column.name for column in METRICS.columns])))
    found = headline(numbers, {"b": "B", "c": "C"}).set_index("method")["spent epsilon"]
    assert found["B"].tolist() == ["1,234", "1,500", "2,000", "3,000"]
    assert found["C"].tolist() == ["-", "-"]


def test_bounds_are_counted_seed_by_seed() -> None:
    """Seed 0: 1 <= 2 and 3 > 2, worst 3 / 2; seed 1: 2 <= 2. Psi strict is twice as large. A client that did nothing
    (alpha = 0) is no point.
    """
    points = [(0, 1.0), (0, 3.0), (1, 2.0), (1, 0.0)]
    alpha = pd.DataFrame(
        [{"scenario": "s", "change": "", "request": 0, "seed": seed, "alpha": value} for seed, value in points]
    )
    alpha = alpha.assign(psi_published=2.0, psi_released=2.0, psi_strict=4.0, psi_empty_seats=1.0)
    found = bounds_by_seed(alpha, {}).set_index(["rule", "seed"])[["points", "held", "worst"]]
    assert found.to_dict("index") == {
        ("published", 0): {"points": 2, "held": 1, "worst": 1.5},
        ("published", 1): {"points": 1, "held": 1, "worst": 1.0},
        ("strict", 0): {"points": 2, "held": 2, "worst": 0.75},
        ("strict", 1): {"points": 1, "held": 1, "worst": 0.5},
        ("empty_seats", 0): {"points": 2, "held": 1, "worst": 3.0},
        ("empty_seats", 1): {"points": 1, "held": 0, "worst": 2.0},
    }


def test_rounding_is_no_violation() -> None:
    """Clients with the same data: Psi = 1e-18, and sums of float32 differ by 1e-7. What is measured as 0.1 is above."""
    rows = [{"scenario": "s", "change": "", "request": 0, "seed": seed, "alpha": 1e-7} for seed in (0, 1)]
    rows[1] |= {"alpha": 0.1}
    alpha = pd.DataFrame(rows).assign(psi_published=1e-18, psi_released=1e-18, psi_strict=0.2, psi_empty_seats=1e-18)
    found = bounds_by_seed(alpha, {}).set_index(["rule", "seed"])
    assert found["held"].to_dict() == {
        **{("published", 0): 1, ("strict", 0): 1, ("empty_seats", 0): 1},
        **{("published", 1): 0, ("strict", 1): 1, ("empty_seats", 1): 0},
    }
    assert found["worst"].dropna().index.get_level_values("seed").unique().tolist() == [1]
    (published, *_) = bounds_that_hold(alpha[alpha["seed"] == 0], {}).to_dict("records")
    assert (published["alpha <= Psi"], published["worst alpha / Psi"]) == ("100.0%", "-")


def test_a_client_is_hidden_by_its_distance_where_psi_is_last_within_the_limit() -> None:
    """Psi* = 1. Client 1 is within it up to round 2, where it is 0.9 away: hidden. Client 2 up to round 1, where it is
    1.5 away: not. Client 3 had done nothing by then. Strict Psi, twice as large, goes back to rounds 1, 0 and 1, where
    the distances are 0.5, 0.2 and 0.
    """
    psi = {1: (0.2, 0.4, 0.9, 1.5), 2: (0.5, 1.0, 1.1, 1.2), 3: (0.0, 0.0, 2.0, 2.0)}
    away = {1: (0.1, 0.5, 0.9, 3.0), 2: (0.2, 1.5, 1.6, 1.7), 3: (0.0, 0.0, 9.0, 9.0)}
    rows = [
        {"scenario": "s", "change": change, "request": 0, "seed": 0, "client": client, "round": n}
        | {"alpha": away[client][n], "psi_published": psi[client][n], "psi_released": psi[client][n]}
        for change in ("", "one_step")
        for client in psi
        for n in range(4)
    ]
    alpha = pd.DataFrame(rows).assign(psi_strict=lambda table: 2 * table["psi_published"], psi_empty_seats=9.0)
    limits = {("s", rule): (1.0, 1.0) for rule in ("published", "strict")}
    found = bounds_by_seed(alpha, limits).set_index(["change", "rule"])[["forgotten", "hidden", "idle"]]
    assert found.loc[""].dropna().to_dict("index") == {
        "published": {"forgotten": 3, "hidden": 2, "idle": 1},
        "strict": {"forgotten": 3, "hidden": 3, "idle": 1},
    }
    assert found.loc["one_step"].isna().all(axis=None), "the certificate is of the scenario's own settings"
    less = bounds_by_seed(alpha, {("s", "published"): (1.0, 0.89)}).set_index(["change", "rule"])["hidden"]
    assert less["", "published"] == 1, "what the noise hides may be less than what SIFU goes by"


def test_noise_hides_less_than_the_classical_formula_says() -> None:
    """epsilon 10, delta 0.01: 10 / sqrt(2 ln 125) = 3.218 sigma by the paper's equation 9, 2.856 sigma in truth. A
    recovery that was lost has no Psi*, and Last's is not SIFU's.
    """
    cells = pd.DataFrame({"variant": ["sifu", "sifu", "sifu_strict", "last"], "psi_star": [None, 0.161, 0.143, 7.0]})
    cells = cells.assign(scenario="s", sigma=0.05, claimed_epsilon=10.0, claimed_delta=0.01)
    found = psi_limits(cells)
    assert set(found) == {("s", "published"), ("s", "strict")}
    assert found["s", "published"] == (0.161, pytest.approx(0.05 * 2.856, rel=1e-3))
    assert found["s", "strict"] == (0.143, pytest.approx(0.05 * 2.856, rel=1e-3))


def test_statistics_say_which_interval_they_have() -> None:
    """0 of 3 seeds are done: up to 1 - 0.025^(1/3) = 71%. Rounds have both intervals, of one seed the range alone."""
    cells = [
        CELL | {"variant": name, "seed": seed, "status": "not_reached", "rounds": seed, "client_steps": 1}
        for name, count in (("three", 3), ("one", 1))
        for seed in range(count)
    ]
    frame = pd.DataFrame(cells, columns=[column.name for column in CELLS.columns])
    numbers = over_seeds(long_form(frame, pd.DataFrame(columns=[column.name for column in METRICS.columns])))
    found = numbers.set_index(["variant", "quantity"])
    done, rounds, one = (found.loc[key] for key in (("three", "done"), ("three", "rounds"), ("one", "rounds")))
    assert (done["interval"], done["low"], done["high"]) == (
        "clopper_pearson",
        0.0,
        pytest.approx(1 - 0.025 ** (1 / 3)),
    )
    assert (rounds["interval"], rounds["t_high"]) == ("bootstrap", pytest.approx(1 + 4.3027 / 3**0.5, rel=1e-4))
    assert (one["interval"], one["low"]) == ("range", 0.0)
    assert pd.isna(done["t_low"])
    assert pd.isna(one["t_low"])


def test_a_gap_stands_next_to_its_floor() -> None:
    """Scratch again is 0.02 and 0.04 off: a floor of 0.03. Gaps of 0.01 are not above it, 0.5 are; t has no floor."""
    gaps = {("s", "scratch_again"): (0.02, 0.04), ("s", "near"): (0.01, 0.01), ("s", "far"): (0.5, 0.5)}
    gaps |= {("t", "near"): (0.01, 0.01)}
    rows = [
        CELL
        | {"scenario": scenario, "variant": variant, "seed": seed, "metric": "gap_to_scratch", "subset": "forget"}
        | {"value": value}
        for (scenario, variant), values in gaps.items()
        for seed, value in enumerate(values)
    ]
    metrics = pd.concat([pd.DataFrame(rows), pd.DataFrame(rows).assign(stop="budget_25")])
    numbers = over_seeds(long_form(pd.DataFrame(columns=[column.name for column in CELLS.columns]), metrics))
    labels = {"near": "Near", "far": "Far"}
    found = headline(numbers, labels).set_index(["scenario", "method"])["floor"]
    assert found.to_dict() == {("s", "Near"): "0.030, not above", ("s", "Far"): "0.030", ("t", "Near"): "-"}
    limited = budgets(numbers, labels).set_index(["scenario", "method"])["floor on forget"]
    assert limited.to_dict() == found.to_dict(), "the floor is that of scratch at its own target"


def test_steps_at_the_server_stand_next_to_the_cost_where_there_are_any() -> None:
    """Fast trains 30 and 50 steps at the server: 40 in the mean. Without any, as in older tables, no column."""
    assert "steps at the server" not in table()
    cells = pd.DataFrame(
        [
            {"scenario": "s", "variant": name, "stop": "target", "seed": seed, "request": 1, "status": "done"}
            | {"rounds": 1, "client_steps": 1, "server_steps": steps}
            for name, both in {"scratch": (0, 0), "fast": (30, 50)}.items()
            for seed, steps in enumerate(both)
        ],
        columns=[column.name for column in CELLS.columns],
    )
    metrics = pd.DataFrame(columns=[column.name for column in METRICS.columns])
    rows = headline(over_seeds(long_form(cells, metrics)), LABELS).set_index("method")
    assert rows["steps at the server"].to_dict() == {"Scratch": "-", "Fast": "40 [30, 50]"}
