"""Intervals over few units, by hand."""

from __future__ import annotations

import math

import pytest

from sifu.core.intervals import clopper_pearson, student, student_tail


def test_a_share_of_none_is_not_known_to_be_none() -> None:
    """0 of 10: the upper end is 1 - 0.025^(1/10), 31%; 10 of 10 mirrors it. 1 of 2: sqrt(0.025) cuts off the ends."""
    assert clopper_pearson(0, 10) == (0.0, pytest.approx(1 - 0.025**0.1))
    assert clopper_pearson(0, 10)[1] == pytest.approx(0.31, abs=0.005)
    assert clopper_pearson(10, 10) == (pytest.approx(0.025**0.1), 1.0)
    assert clopper_pearson(1, 2) == (pytest.approx(1 - 0.975**0.5), pytest.approx(0.975**0.5))


def test_students_interval_of_two_and_of_three_values() -> None:
    """One degree of freedom is Cauchy's: tan(0.475 pi) = 12.706. Two have 4.3027."""
    assert student(1.0, 0.5, 2) == (
        pytest.approx(1 - 0.5 * 12.706, rel=1e-4),
        pytest.approx(1 + 0.5 * 12.706, rel=1e-4),
    )
    assert student(0.0, 1.0, 3)[1] == pytest.approx(4.3027, rel=1e-4)
    assert student(0.3, 0.0, 3) == (0.3, 0.3)
    assert student(0.3, 0.0, 1) == (-math.inf, math.inf)


def test_a_tail_is_small_where_the_interval_excludes_the_threshold() -> None:
    """The end of a 95% interval has a p-value of 2.5% on its side."""
    low, _ = student(2.0, 0.5, 5)
    assert student_tail(2.0 - low, 0.5, 5) == pytest.approx(0.025)
    assert student_tail(1.0, 1.0, 2) == pytest.approx(0.25)
    assert [student_tail(distance, 0.0, 3) for distance in (0.1, 0.0)] == [0.0, 1.0]
    assert student_tail(9.0, 0.0, 1) == 1.0, "one value proves nothing"
