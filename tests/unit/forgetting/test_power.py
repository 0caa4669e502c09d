"""Power: the formula, the same from draws, and what each metric can see."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sifu.forgetting.auc import auc, auc_null_deviation
from sifu.forgetting.power import (
    SCORES,
    gaussian_auc,
    power_table,
    smallest_damage,
    smallest_effect,
    smallest_memory,
    smallest_shift,
)
from sifu.forgetting.sample import NEEDS, TooFewModels
from tests import reference_forgetting as plain

PUBLISHED = [(10, 1.64), (40, 0.78), (100, 0.46), (200, 0.34), (1000, 0.16)]


@pytest.mark.parametrize(("models", "wanted"), PUBLISHED)
def test_the_smallest_shift_is_the_published_one(models: int, wanted: float) -> None:
    """Published from draws, to two digits; the formula takes the law of AUC as normal, which is 8% off at worst."""
    assert smallest_shift(models, models) == pytest.approx(wanted, rel=0.08)


@given(st.floats(0, 3), st.integers(5, 60), st.integers(5, 60))
def test_the_law_of_an_auc(shift: float, first: int, second: int) -> None:
    """Without a shift it is the null's; with one, its deviation is that of 3,000 draws within 6%."""
    assert gaussian_auc(0.0, first, second) == pytest.approx((0.5, auc_null_deviation(first, second)))
    random = np.random.default_rng(0)
    found = auc(random.normal(shift, 1, (first, 3000)), random.normal(size=(second, 3000)))
    value, deviation = gaussian_auc(shift, first, second)
    assert found.mean() == pytest.approx(value, abs=0.01)
    assert found.std() == pytest.approx(deviation, rel=0.08)


def test_draws_agree_with_the_formula() -> None:
    """200 draws from 600 oracles: a power of 90% has an error of 2%, some 5% of the shift; the limit adds as much.
    Shifting whole margins by the deviation of the mean gives the same for a client of any number of points.
    """
    random = np.random.default_rng(0)
    oracles = random.normal(size=(600, 1)) + 0.5 * random.normal(size=(600, 8))
    for models in (40, 100):
        found = smallest_effect(oracles, models, SCORES["auc"])
        assert found == pytest.approx(smallest_shift(models, models), rel=0.2)


def test_twins_see_what_the_common_part_hides() -> None:
    """Margins of client and twin share 0.9 of their variance. Their difference has a variance of 0.2, and memory moves
    it twice: sqrt(0.2) / 2 = 0.22 of the shift that AUC of the margin alone needs.
    """
    random = np.random.default_rng(0)
    common = np.sqrt(0.9) * random.normal(size=(400, 1))
    client, twin = common + np.sqrt(0.1) * random.normal(size=(2, 400, 1))
    ratio = smallest_memory(client, twin, 50) / smallest_effect(client, 50, SCORES["auc"])
    assert ratio == pytest.approx(np.sqrt(0.2) / 2, rel=0.25)


def test_every_metric_has_a_smallest_effect() -> None:
    """In the table: 20 models for all, 10 for those that need no more, 60 for none, as 100 oracles have no two sets."""
    oracles = np.random.default_rng(0).normal(size=(100, 3))
    rows = power_table(oracles, [10, 20, 60], draws=20)
    assert [row.metric for row in rows if row.models == 20] == list(SCORES)
    assert {row.metric for row in rows if row.models == 10} == {name for name in SCORES if NEEDS[name].least <= 10}
    assert {row.models for row in rows} == {10, 20}
    assert all(0 < row.effect < 64 for row in rows)
    few, more = (next(row.effect for row in rows if row.metric == "klom" and row.models == n) for n in (10, 20))
    assert few > more


def test_accuracy_sees_less_than_the_margin() -> None:
    """An example that stays on its side of a half tells nothing. Where all are right by far, no shift is seen."""
    random = np.random.default_rng(0)
    oracles = random.normal(size=(200, 1)) + random.normal(size=(200, 20))
    seen, by_margin = (smallest_effect(oracles, 50, SCORES[name]) for name in ("accuracy", "auc"))
    assert by_margin < seen < 4 * by_margin
    assert smallest_effect(oracles + 20, 50, SCORES["accuracy"]) == np.inf


def test_disagreement_is_that_beyond_models_of_no_world() -> None:
    """Three draws of seven and six models on four points, each as in plain loops. Of two worlds with shares p and q it
    is (p - q)^2 / 2: where all are right in one and none in the other, a half, and 0 where all say the same.
    """
    random = np.random.default_rng(0)
    one, two = random.normal(0.3, 1, (7, 3, 4)), random.normal(-0.3, 1, (6, 3, 4))
    wanted = [plain.excess_disagreement(one[:, draw].tolist(), two[:, draw].tolist()) for draw in range(3)]
    assert SCORES["disagreement"](one, two) == pytest.approx(wanted)
    right = np.ones((5, 1, 2))
    assert SCORES["disagreement"](right, -right) == pytest.approx([0.5])
    assert SCORES["disagreement"](right, right) == pytest.approx([0.0])


def test_disagreement_sees_a_shift_where_there_is_room_for_one() -> None:
    """Margins are shifted upwards. Models that are wrong in nine of ten (a mean of -1.3 deviations, of sqrt 2) or in
    half can say the right class more often, those that are right in nine of ten hardly, and others not at all.
    """
    random = np.random.default_rng(0)
    oracles = random.normal(size=(200, 1)) + random.normal(size=(200, 20))
    by_margin = smallest_effect(oracles, 50, SCORES["auc"])
    wrong, half, right, all_right = (
        smallest_effect(oracles + mean, 50, SCORES["disagreement"]) for mean in (-1.8, 0.0, 1.8, 20.0)
    )
    assert by_margin / 2 < wrong < half < 2 * by_margin < right
    assert all_right == np.inf


def test_the_worst_decile_varies_more_than_the_mean() -> None:
    """A shift of all of thirty clients moves their worst three as much, and the mean of three varies more."""
    clients = np.random.default_rng(1).normal(size=(200, 30))
    needed, by_mean = smallest_damage(clients, 50), smallest_effect(clients, 50, SCORES["auc"])
    assert 1.2 * by_mean < needed < np.sqrt(10) * by_mean


def test_a_metric_that_sees_nothing() -> None:
    oracles = np.random.default_rng(0).normal(size=(60, 1))
    assert smallest_effect(oracles, 20, lambda one, two: np.zeros(one.shape[1]), draws=10) == np.inf


def test_too_few_oracles_are_refused() -> None:
    with pytest.raises(TooFewModels, match="needs 40 oracles, and there are 30"):
        smallest_effect(np.zeros((30, 1)), 20, SCORES["auc"])
    with pytest.raises(TooFewModels, match="a power curve needs at least 10 models a world, and there are 2"):
        power_table(np.zeros((2, 1)), [10])
    with pytest.raises(TooFewModels, match="finds no shift, however large"):
        smallest_shift(2, 2)
