"""The certificates that survive, as people read them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from sifu.report.frontier import frontier
from sifu.report.privacy_points import POINTS
from sifu.report.survivors import _number, frontier_for_people, own_sigmas
from tests.unit.report.test_frontier import EMPTY, LIMIT, SCRATCH, cells, psi


def test_other_points_stand_next_to_the_epsilons() -> None:
    """Of a ratio of 2: at delta = 1e-5, and at epsilon = 1 and 10; of none."""
    table = frontier(pd.concat([SCRATCH, cells("sifu", (50, 50), **psi(2.0, 1.0))]), EMPTY)
    shown = frontier_for_people(table, {"s": "S"}, {}, {}).set_index("method")
    names = ["epsilon at delta = 1e-5", "delta at epsilon = 1", "delta at epsilon = 10"]
    wanted = [float(POINTS[name].of(np.array([2.0]))[0]) for name in names]
    assert shown.loc["sifu", names].tolist() == [_number(value) for value in wanted]
    assert shown.loc["scratch", names].tolist() == ["0", "0", "0"]


def test_what_misses_its_target_says_in_how_many_seeds_with_the_exact_interval() -> None:
    lost = cells("sifu", (50, 50), "not_reached", **psi(2.0, 1.0))
    shown = frontier_for_people(frontier(pd.concat([SCRATCH, lost]), EMPTY), {"s": "S"}, {}, {}).set_index("method")
    assert shown.loc["sifu", "cost / scratch"] == "target met in seeds: 0 of 2 [0%, 84%]"


def test_people_see_what_survives_cheapest_first() -> None:
    parts = [
        SCRATCH,
        cells("dear", (90, 180), **psi(1.0, 1.0)),
        cells("cheap", (50, 100), **psi(1.1 * LIMIT, 1.0)),
        cells("broken", (1, 1), **psi(99.0, 99.0)),
        cells("old", (1, 1)),
        cells("shards", (2, 2), claimed_epsilon=0.0, claimed_delta=0.0),
        cells("none", (1, 1), claimed_epsilon=math.nan),
    ]
    shown = frontier_for_people(frontier(pd.concat(parts), EMPTY), {"s": "S"}, {"cheap": "Cheap"}, {})
    assert shown["method"].tolist() == ["Cheap", "dear", "scratch", "old", "shards"]
    assert shown["holds for"].tolist() == [
        "each client alone",
        "all clients of a request",
        "all clients of a request",
        "not measured yet",
        "exact by design, not counted",
    ]
    assert shown["cost / scratch"].tolist()[:2] == ["0.50 [0.50, 0.50]", "0.90 [0.90, 0.90]"]


def test_the_same_noise_is_shown_once_and_numbers_in_one_style() -> None:
    """SIFU's own sigma is 1, in two seeds; the sweep has it again in one, and 2."""
    own = cells("sifu", (50, 60), **psi(1.0, 1.0))
    swept = pd.concat([cells("sifu", (20,), **psi(1.0, 1.0)).assign(sigma=value) for value in (1.0, 2.0)])
    rows, table = pd.concat([SCRATCH, own]), frontier(pd.concat([SCRATCH, own]), swept)
    shown = frontier_for_people(table, {"s": "S"}, {}, own_sigmas(rows))
    assert shown[shown["method"] == "sifu"]["sigma"].tolist() == ["2", "1, its own"]
    noises = table[table["variant"] == "sifu"]["noise"].tolist()
    assert noises == ["its own", "1", "2"], "the Parquet twin has all"
    more = table.assign(compared=table["compared"].mask(table["noise"] == "its own", 0))
    fewer = frontier_for_people(more, {"s": "S"}, {}, own_sigmas(rows))
    assert "1" in fewer[fewer["method"] == "sifu"]["sigma"].tolist(), "more seeds answered every request in the sweep"
    varied = rows.assign(sigma=[*rows["sigma"][:-1], 3.0])
    kept = frontier_for_people(table, {"s": "S"}, {}, own_sigmas(varied))
    assert kept[kept["method"] == "sifu"]["sigma"].tolist() == ["1", "2", "its own"]
    assert [_number(value) for value in (3231.4, 0.5, math.inf, math.nan)] == ["3,231", "0.5", "inf", "-"]
