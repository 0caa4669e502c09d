"""What FATS costs against rho, from answers whose numbers are on paper."""

from __future__ import annotations

import pandas as pd
import pytest

from sifu.report.fats import expected, fats_table

SETTINGS = {
    ("s", name): {"method": {"name": "fats", "rho": rho, "rounds": 10}, "partition": {"num_clients": 20}}
    for name, rho in (("more", 10.0), ("less", 0.5))
}


def cells() -> pd.DataFrame:
    """Two seeds, two requests of one client: 0 and 4 rounds of 10, then 0 and 0; a budget, and a seed that diverged."""
    rows = [(0, 1, 0), (0, 2, 4), (1, 1, 0), (1, 2, 0)]
    key = {"scenario": "s", "variant": "less", "stop": "target", "status": "not_reached"}
    made = [key | {"seed": seed, "request": request, "rounds": n, "group": request} for seed, request, n in rows]
    last = {"seed": 0, "request": 1, "rounds": 9, "group": 1}
    return pd.DataFrame([*made, key | last | {"stop": "budget_50"}, key | last | {"seed": 2, "status": "diverged"}])


def statistics() -> pd.DataFrame:
    key = {"scenario": "s", "variant": "less", "stop": "target"}
    rows = [("accuracy", "retain", 1, 0.7), ("accuracy", "retain", 2, 0.9), ("steps_to_scratch", "", 1, 3.0)]
    return pd.DataFrame([key | dict(zip(("quantity", "subset", "request", "mean"), row, strict=True)) for row in rows])


def test_a_row_in_the_unit_of_fats() -> None:
    """rho 0.5 of 20 clients in 10 rounds: m = 1, q = 0.05. Free: 3 of 4 answers, 0.95^10 = 59.9% expected.

    Rounds: 0.2 and 0 of R in the seeds' means; expected 1 - 0.95 (1 - 0.5987) / 0.5 = 0.238. Student's interval of
    0.2 and 0 is 0.1 -+ 12.706 x 0.1.
    """
    table = fats_table(cells(), statistics(), SETTINGS, {"less": "FATS, rho 0.5"})
    (row,) = table.to_dict("records")
    assert (row["scenario"], row["method"], row["rho"], row["m"], row["M"], row["R"]) == (
        *("s", "FATS, rho 0.5", "0.5", "1", "20", "10"),
    )
    assert row["cost nothing"] == "3 of 4 [19%, 99%]"
    assert row["expected"] == "59.9%"
    assert row["rounds / R"] == "0.100 [0.000, 0.200; t -1.171, 1.371]"
    assert row["expected rounds / R"] == "0.238"
    assert (row["retain accuracy"], row["test accuracy"], row["cost / scratch"]) == ("0.800", "-", "3.000")


def test_rho_is_in_order_and_nothing_is_an_empty_table() -> None:
    both = pd.concat([cells(), cells().assign(variant="more")])
    assert fats_table(both, statistics(), SETTINGS, {})["rho"].tolist() == ["0.5", "10"]
    assert fats_table(cells(), statistics(), {}, {}).empty


def test_expected_by_hand() -> None:
    """M = 4, m = 2, R = 2: a round leaves a client out with 1/2, two clients with 1/6. One client: first drawn in round
    1 with 1/2 (2 rounds again), in round 2 with 1/4 (1 round): 1.25 of 2. Two: 5/6 and 5/36: 65/36 of 2.
    """
    assert expected(4, 2, 2) == pytest.approx((1 / 4, 1.25 / 2))
    assert expected(4, 2, 2, size=2) == pytest.approx((1 / 36, 65 / 72))
