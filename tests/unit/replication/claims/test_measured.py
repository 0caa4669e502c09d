"""A number over datasets: each counts with all of its seeds."""

from __future__ import annotations

import pandas as pd
import pytest

from sifu.replication.claims.measured import Measured


def test_an_average_uses_all_seeds_that_a_dataset_has() -> None:
    """Means 0.3 of ten seeds and 0.6 of two: 0.45. Variances of the means 0.01 / 9 and 0.0025: by Welch and
    Satterthwaite (v1 + v2)^2 / (v1^2 / 9 + v2^2 / 1) = 2.04 degrees of freedom. Pairs alone would say 0.4.
    """
    first = pd.Series([0.2] * 5 + [0.4] * 5)
    found = Measured.of_datasets([first, pd.Series([0.55, 0.65])])
    assert found is not None
    assert (found.mean, found.seeds) == (pytest.approx(0.45), 2)
    v1, v2 = 0.01 / 9, 0.0025
    assert found.error == pytest.approx((v1 + v2) ** 0.5 / 2)
    assert found.freedom == pytest.approx((v1 + v2) ** 2 / (v1**2 / 9 + v2**2))
    assert found.student is not None
    assert found.student.low < found.low < 0.45 < found.high < found.student.high
    assert found.low >= (0.2 + 0.55) / 2, "no resample is lower"
    assert Measured.of_datasets([first, pd.Series([], dtype=float)]) is None
    alone = Measured.of_datasets([first, pd.Series([0.5])])
    assert alone is not None
    assert alone.student is not None
    assert alone.student.high == float("inf"), "one seed has no spread"
    assert Measured.of_datasets([first, first]) == Measured.of(first)
