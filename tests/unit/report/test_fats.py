"""What FATS costs against rho, from answers whose numbers are on paper."""

from __future__ import annotations

import pandas as pd
import pytest

from sifu.report.fats import expected, fats_table

SETTINGS = {
    ("s", name): {"method": {"name": "fats", "rho": rho, "rounds": 10}, "partition": {"num_clients": 20}}
    for name, rho in (("more", 10.0), ("less", 0.5))
}


def cells(last: str = "done") -> pd.DataFrame:
    """Two seeds, two requests of one client: 0 and 4 rounds of 10, then 0 and 0; a budget, and a seed that diverged.

    All meet the target but the last answer, which ends as `last`.
    """
    rows = [(0, 1, 0, "done"), (0, 2, 4, "done"), (1, 1, 0, "done"), (1, 2, 0, last)]
    key = {"scenario": "s", "variant": "less", "stop": "target"}
    names = ("seed", "request", "rounds", "status")
    made = [key | dict(zip(names, row, strict=True)) | {"group": row[1]} for row in rows]
    more = {"seed": 0, "request": 1, "rounds": 9, "group": 1, "status": "done"}
    return pd.DataFrame([*made, key | more | {"stop": "budget_50"}, key | more | {"seed": 2, "status": "diverged"}])


def statistics(met: float = 1.0, scratch_met: float = 1.0) -> pd.DataFrame:
    """`met`: the share of seeds that met the target in request 2; `scratch_met`: that of scratch's."""
    key = {"scenario": "s", "variant": "less", "stop": "target"}
    rows = [("accuracy", "retain", 1, 0.7), ("accuracy", "retain", 2, 0.9)]
    rows += [("steps_to_scratch", "", 1, 3.0), ("steps_to_scratch", "", 2, 1.0)]
    rows += [("done", "", 1, 1.0), ("done", "", 2, met)]
    own = [key | dict(zip(("quantity", "subset", "request", "mean"), row, strict=True)) for row in rows]
    scratch = key | {"variant": "scratch", "quantity": "done", "subset": "", "request": 2, "mean": scratch_met}
    return pd.DataFrame([*own, scratch])


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
    assert row["cost nothing"] == "3 of 4; first requests 2 of 2 [16%, 100%]"
    assert row["expected"] == "59.9%"
    assert row["rounds / R"] == "0.100 [0.000, 0.200; t -1.171, 1.371]"
    assert row["expected rounds / R"] == "0.238"
    assert (row["retain accuracy"], row["test accuracy"], row["cost / scratch"]) == ("0.800", "-", "2.000")
    assert row["target met"] == "2 of 3 [9%, 99%]; 4 of 5 answers"  # the seed that diverged met nothing


@pytest.mark.parametrize(("met", "scratch_met"), [(0.5, 1.0), (1.0, 0.5)])
def test_what_missed_the_target_has_no_cost(met: float, scratch_met: float) -> None:
    """A request that fell short, or whose scratch did, leaves no mean over requests. Rounds were taken all the same."""
    last = "done" if met == 1 else "not_reached"
    (row,) = fats_table(cells(last), statistics(met, scratch_met), SETTINGS, {}).to_dict("records")
    seeds = "2 of 3 [9%, 99%]; 4" if met == 1 else "1 of 3 [1%, 91%]; 3"
    assert row["target met"] == f"{seeds} of 5 answers"
    assert (row["cost / scratch"], row["retain accuracy"]) == ("-", "0.800")
    assert row["rounds / R"].startswith("0.100")


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
