"""Numbers of docs/replication as people read them."""

from __future__ import annotations

import pandas as pd
import pytest

from sifu.docs.measured_text import end_text, interval_text, number_text, seeds_text
from sifu.replication.claims.claim import Line
from sifu.replication.claims.measured import Measured


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (18.64, "18.6"), (999.7, "1,000"), (4817.2, "4,817"), (9_999_999.0, "9,999,999"), (2.2e15, "2.2e+15")],
)
def test_times_are_written_so_that_they_can_be_read(value: float, text: str) -> None:
    assert number_text(value, "times") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.000"),
        (0.1, "0.100"),
        (0.0996, "0.0996"),
        (0.1004, "0.1004"),
        (-0.0002, "-0.0002"),
        (2e-5, "2e-05"),
        (0.2, "0.200"),
    ],
)
def test_an_end_shows_on_which_side_of_a_threshold_it_lies(value: float, text: str) -> None:
    assert end_text(value, "number") == text
    assert end_text(0.1, "share") == "10.0%"


def test_a_seed_alone_has_no_interval() -> None:
    line = Line("mnist", "x", Measured(0.5, 0.5, 0.5, 1), unit="number", ran=10)
    assert (interval_text(line.value, "number"), seeds_text(line)) == ("0.500", "1 of 10")


def test_square_brackets_are_of_intervals_round_ones_of_ranges() -> None:
    values = pd.Series([0.25, 0.5])
    assert interval_text(Measured.in_range(values), "share") == "37.5% (seeds 25.0% to 50.0%)"
    assert interval_text(Measured.median(values), "share") == "37.5% (seeds 25.0% to 50.0%)"
    assert interval_text(Measured.share(values.round()), "share").startswith("0.0% [0.0%, ")
