"""AUC with ties and its null, and hits at few false alarms, as counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sifu.errors import SifuError
from sifu.forgetting.auc import auc, auc_null_deviation, low_rate
from sifu.forgetting.sample import TooFewModels
from tests import reference_forgetting

FEW = st.lists(st.integers(0, 6), min_size=5, max_size=12)  # with ties


@given(FEW, FEW)
def test_auc_counts_pairs(first: list[int], second: list[int]) -> None:
    found = auc(np.array(first)[:, None], np.array(second)[:, None])
    assert found[0] == pytest.approx(reference_forgetting.auc(first, second))
    assert auc(second, first) == pytest.approx(1 - found[0])


@pytest.mark.parametrize(("models", "wanted"), [(10, 0.132), (40, 0.065), (100, 0.041), (200, 0.029), (1000, 0.013)])
def test_the_null_is_that_of_mann_and_whitney(models: int, wanted: float) -> None:
    """sqrt((2 N + 1) / (12 N^2)): for N = 10 sqrt(21 / 1200) = 0.1323."""
    assert auc_null_deviation(models, models) == pytest.approx(wanted, abs=5e-4)


def test_models_that_do_not_differ_spread_as_the_null_says() -> None:
    """4,000 AUCs of 30 and 12 models: the deviation of a deviation is its 1 / sqrt(8,000) = 1.1%; three are 3.4%."""
    random = np.random.default_rng(0)
    found = auc(random.normal(size=(30, 4000)), random.normal(size=(12, 4000)))
    assert found.std() == pytest.approx(auc_null_deviation(30, 12), rel=0.034)
    assert abs(found.mean() - 0.5) < 3 * auc_null_deviation(30, 12) / np.sqrt(4000)


def test_rates_are_realised_counts() -> None:
    """1% of 200 negatives allows 2 alarms: the threshold is the third largest, 197. Of 600, 0.1% allows none."""
    found = low_rate([197, 197.5, 300], np.arange(200), 0.01)
    assert found == (2, 3, 2, 200, 2)
    assert str(found) == "2 of 3 at 2 of 200"
    none = low_rate([598.5, 599.5], np.arange(600), 0.001)
    assert none == (1, 2, 0, 600, 0), "no curve is drawn from 0 to 1 of 600"


def test_tied_negatives_are_no_alarms() -> None:
    """Two of 100 share the largest value, and one alarm is allowed: a threshold lets both in or none."""
    assert low_rate([5.0, 6.0], [*range(-98, 0), 5.0, 5.0], 0.01) == (1, 2, 0, 100, 1)
    assert low_rate([1.0] * 5, [1.0] * 100, 0.29) == (0, 5, 0, 100, 29), "0.29 * 100 is below 29 in floating point"


def test_two_models_say_nothing() -> None:
    with pytest.raises(TooFewModels, match="AUC needs at least 5 models a world, and there are 2; train more seeds"):
        auc([1.0, 2.0], [3.0] * 9)
    with pytest.raises(SifuError, match="1 of 5 models have margins that are not finite"):
        auc([1, 2, 3, 4, np.inf], [1] * 5)
    with pytest.raises(SifuError, match="the same columns"):
        auc(np.zeros((5, 2)), np.zeros((5, 3)))
    with pytest.raises(SifuError, match="scores of both worlds"):
        low_rate([], [1.0], 0.01)
