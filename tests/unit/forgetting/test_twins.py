"""The twin test: memory is found, a shifted model that knows nothing is at its null, and the share has an interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from sifu.forgetting.margin import client_margins
from sifu.forgetting.sample import TooFewModels
from sifu.forgetting.twins import (
    LITTLE,
    NOTHING,
    SOMETHING,
    UNSURE,
    _auc,
    _note,
    share_forgotten,
    twin_test,
)
from tests import reference_forgetting

CLIENTS, TWINS, POINTS = [0, 1], [2, 3], 5
OWNERS = np.repeat([*CLIENTS, *TWINS], POINTS)


def margins(models: int, memory: float, shift: float, with_client: bool, key: int) -> np.ndarray:
    """Margins of models that remember who took part by `memory`, after a general `shift` with noise of its own."""
    random = np.random.default_rng([key, with_client])
    values = random.normal(size=(models, len(OWNERS))) + shift * (1 + random.normal(size=(models, 1)))
    took_part = np.isin(OWNERS, CLIENTS if with_client else TWINS)
    return values + memory * took_part


def differences(models: int, memory: float, shift: float = 0.0, key: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The mean margin on each client minus that on its twin, in both worlds."""
    worlds = [margins(models, memory, shift, with_client, key) for with_client in (True, False)]
    one, two = (client_margins(world, OWNERS, CLIENTS) - client_margins(world, OWNERS, TWINS) for world in worlds)
    return one, two


def test_a_shift_of_the_whole_model_cancels() -> None:
    """A blurred restart: shifted by five deviations, different in every model, and without memory of anyone."""
    found = twin_test(*differences(200, memory=0.0, shift=5.0))
    assert np.abs(found.deviations).max() < 3
    assert abs(found.pooled - 0.5) < 3 * found.null_deviation


def test_memory_is_found_under_any_shift() -> None:
    """Memory m on 5 points moves the difference by m in world 1 and by -m in world 0; its deviation is sqrt(2 / 5). For
    m = 0.4 the worlds are 1.265 deviations apart, which is AUC Phi(0.894) = 0.814; three null deviations are 0.087.
    """
    for shift in (0.0, 5.0):
        found = twin_test(*differences(200, memory=0.4, shift=shift))
        assert found.auc == pytest.approx(ndtr(0.8 / np.sqrt(0.4) / np.sqrt(2)), abs=3 * found.null_deviation)
        assert found.shift == pytest.approx(0.8 / np.sqrt(0.4), abs=0.3)
        assert found.pooled > found.auc.max(), "two clients together tell more"


def test_twin_against_twin_is_a_placebo() -> None:
    """Two samples of the same world: memory of the twin is the same in both."""
    halves = [differences(200, memory=3.0, key=key)[1] for key in (0, 1)]
    found = twin_test(*halves)
    assert np.abs(found.deviations).max() < 3


def test_the_sign_says_who_took_part() -> None:
    one, two = differences(50, memory=3.0)
    assert twin_test(one, two).auc == pytest.approx([1, 1])
    assert twin_test(two, one).auc == pytest.approx([0, 0])
    assert np.isfinite(twin_test(one, two).shift).all()


def test_the_share_that_is_forgotten() -> None:
    """Memory of 0.4 before and 0.2 after: AUC 0.814 and 0.673, so that 1 - 0.173 / 0.314 = 0.449 is forgotten."""
    seeds = np.arange(400), np.arange(400)
    original = [world[:, 0] for world in differences(400, 0.4)]
    unlearned = [world[:, 0] for world in differences(400, 0.2)]
    before, after = (ndtr(2 * memory / np.sqrt(0.4) / np.sqrt(2)) for memory in (0.4, 0.2))
    found = share_forgotten((unlearned[0], unlearned[1]), (original[0], original[1]), seeds, resamples=200)
    assert found.low < 1 - (after - 0.5) / (before - 0.5) < found.high
    assert found.low < found.value < found.high
    assert found.high - found.low < 0.3
    assert found.note == SOMETHING
    same = share_forgotten((original[0], original[1]), (original[0], original[1]), seeds, resamples=20)
    assert (same.value, same.low, same.high) == (0, 0, 0), "who does nothing forgets nothing, in every resample"


def test_worlds_of_the_same_seeds_are_drawn_again_together() -> None:
    """Both worlds share most of a seed, which moves AUC of independent resamples, and not of common ones."""
    common, *own = np.random.default_rng(0).normal(size=(5, 100))
    worlds = [common + 0.2 * part for part in own]
    unlearned, original = (worlds[0] + 0.2, worlds[1] - 0.2), (worlds[2] + 0.8, worlds[3] - 0.8)
    together, apart = (
        share_forgotten(unlearned, original, (np.arange(100), np.arange(100) + shift), resamples=200)
        for shift in (0, 100)
    )
    assert together.value == apart.value
    assert together.high - together.low < 0.7 * (apart.high - apart.low)


@pytest.mark.long
def test_the_interval_of_the_share_covers_it() -> None:
    """Original at a distance of 1.2, unlearned at 0.4, 80 models, half of the variance shared: of 200 intervals at
    least 0.95 - 3 sqrt(0.95 * 0.05 / 200) = 0.904 hold the share. The shorter test has one interval.
    """
    truth = 1 - (ndtr(0.4 / np.sqrt(2)) - 0.5) / (ndtr(1.2 / np.sqrt(2)) - 0.5)
    covered = 0
    for key in range(200):
        first, second, other, last = np.random.default_rng(key).normal(size=(4, 80))
        original = first + 0.6, second - 0.6
        unlearned = (first + other) / np.sqrt(2) + 0.2, (second + last) / np.sqrt(2) - 0.2
        found = share_forgotten(unlearned, original, (range(80), range(80)), resamples=300)
        covered += found.low < truth < found.high
    assert covered >= 0.904 * 200


def test_nothing_to_forget_is_said() -> None:
    """An original at 0.5 has no share. One at 0.62 (memory 0.15, 400 models) had little, which is far from its null."""
    seeds = np.arange(400), np.arange(400)
    for memory, note in ((0.0, NOTHING), (0.15, LITTLE)):
        one, two = (world[:, 0] for world in differences(400, memory))
        found = share_forgotten((one, two), (one, two), seeds, resamples=20)
        assert found.note == note
        assert np.isnan(found.value) == (note == NOTHING)


@pytest.mark.parametrize(
    ("original", "deviation", "note"),
    [
        (0.51, 0.04, NOTHING),  # its upper limit is 0.59
        (0.54, 0.04, UNSURE),  # at its null, and 0.62 may be true
        (0.5, 0.118, UNSURE),  # twelve models: an original at 0.73 would look like this
        (0.62, 0.039, LITTLE),  # 3.08 deviations
        (0.55, 0.01, LITTLE),  # below 0.6 with certainty, but certainly there
        (0.9, 0.04, SOMETHING),
        (0.3, 0.04, UNSURE),  # five deviations below: odd, and not nothing
    ],
)
def test_nothing_is_not_said_for_want_of_models(original: float, deviation: float, note: str) -> None:
    assert _note(original, deviation) == note


@given(st.integers(0, 1000))
def test_the_order_of_seeds_changes_nothing(shuffle: int) -> None:
    random = np.random.default_rng(shuffle)
    one, two = (world[:, 0] for world in differences(12, 0.2))
    original = tuple(world[:, 0] for world in differences(12, 1.0, key=1))
    seeds = np.arange(12), np.arange(12, 24)
    orders = random.permutation(12), random.permutation(12)
    found = share_forgotten((one, two), (original[0], original[1]), seeds, resamples=10)
    shuffled = share_forgotten(
        (one[orders[0]], two[orders[1]]),
        (original[0][orders[0]], original[1][orders[1]]),
        (seeds[0][orders[0]], seeds[1][orders[1]]),
        resamples=10,
    )
    assert found == shuffled
    assert found.low < found.high


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.lists(st.integers(0, 4), min_size=1, max_size=8))
def test_sorted_places_are_auc(first: list[int], second: list[int]) -> None:
    assert _auc(np.array(first, float), np.array(second, float)) == pytest.approx(
        reference_forgetting.auc(first, second)
    )


def test_two_models_are_refused() -> None:
    with pytest.raises(TooFewModels, match="the twin test needs at least 5 models a world, and there are 2"):
        twin_test(np.zeros((2, 1)), np.zeros((2, 1)))
    assert not twin_test(np.zeros(5), np.zeros(5)).enough
    assert twin_test(np.zeros(5), np.zeros(5)).shift == 0
