"""Permutations of worlds: p-values are uniform where nothing differs, whatever the order of the models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from sifu.errors import SifuError
from sifu.forgetting.false_discovery import benjamini_hochberg
from sifu.forgetting.permutation import auc_permutation_test, pooled_auc_test
from sifu.forgetting.sample import Floats, TooFewModels
from sifu.forgetting.seeds import folds, permuted_worlds
from tests import reference_forgetting
from tests.reference_forgetting import permutation_test

SEEDS = st.sets(st.integers(0, 50), min_size=5, max_size=12).map(sorted)


@pytest.mark.parametrize("paired", [True, False])
def test_p_values_are_uniform_where_nothing_differs(paired: bool) -> None:
    """300 clients' p-values. Paired worlds share a part of each seed, and are exchangeable still."""
    random = np.random.default_rng(5)
    common = random.normal(size=(40, 300)) * (3.0 if paired else 0.0)
    first, second = common + random.normal(size=(2, 40, 300))
    seeds = np.arange(40), np.arange(40) + (0 if paired else 40)
    found = auc_permutation_test(first, second, permuted_worlds(*seeds, 499, paired=paired))
    assert kstest(found.p_value, "uniform").pvalue > 0.01
    alike = permutation_test(first, second, permuted_worlds(*seeds, 199, paired=paired), distance)
    assert kstest(alike.p_value, "uniform").pvalue > 0.01


def distance(first: Floats, second: Floats) -> Floats:
    return np.abs(first.mean(0) - second.mean(0))


def test_pairs_have_more_power() -> None:
    """Half a deviation of the difference in 40 pairs, under a common part that is ten times as large."""
    random = np.random.default_rng(0)
    common = 10 * random.normal(size=(40, 20))
    first, second = common + 1 + random.normal(size=(40, 20)), common + random.normal(size=(40, 20))
    seeds = np.arange(40)
    p = [
        permutation_test(first, second, permuted_worlds(seeds, seeds, 199, paired=paired), distance).p_value
        for paired in (True, False)
    ]
    assert np.median(p[0]) < 0.01
    assert np.median(p[1]) > 0.2


def test_ranks_taken_once_are_auc_each_time() -> None:
    random = np.random.default_rng(0)
    first, second = random.integers(6, size=(6, 2)), random.integers(6, size=(7, 2))
    worlds = permuted_worlds(range(6), range(6, 13), 20, paired=False)
    found = auc_permutation_test(first, second, worlds)
    both = np.concatenate([first, second])
    for draw, chosen in enumerate(worlds):
        for column in range(2):
            wanted = reference_forgetting.auc(both[chosen, column].tolist(), both[~chosen, column].tolist())
            assert found.null[draw, column] == pytest.approx(abs(wanted - 0.5))
    assert found.observed[0] == pytest.approx(
        abs(reference_forgetting.auc(first[:, 0].tolist(), second[:, 0].tolist()) - 0.5)
    )
    beaten = (found.null >= found.observed - 1e-9).sum(0)
    assert found.p_value == pytest.approx((1 + beaten) / 21)


@given(SEEDS, st.booleans(), st.integers(0, 1000))
def test_the_order_of_seeds_changes_nothing(seeds: list[int], paired: bool, shuffle: int) -> None:
    """Models come in any order, in any blocks: the same p-value to the last bit."""
    random = np.random.default_rng(shuffle)
    numbers = np.array(seeds)
    others = numbers if paired else numbers + 3
    first, second = random.normal(size=(2, len(seeds), 3))
    orders = random.permutation(len(seeds)), random.permutation(len(seeds))
    found = []
    for one, two in ((slice(None), slice(None)), orders):
        worlds = permuted_worlds(numbers[one], others[two], 30, paired=paired)
        found.append(auc_permutation_test(first[one], second[two], worlds).p_value)
    np.testing.assert_array_equal(*found)


@given(SEEDS, SEEDS)
def test_folds_keep_seeds_together(first: list[int], second: list[int]) -> None:
    own, other = folds(first, second)
    fold = dict(zip(first, own, strict=True))
    assert all(fold.get(seed, place) == place for seed, place in zip(second, other, strict=True))
    for part in (own, other):
        assert abs(2 * int(part.sum()) - len(part)) <= 2, "shared seeds and others are cut in half each"


def test_a_pooled_test_sees_what_single_clients_do_not() -> None:
    """A shift of 0.3 in 40 models of each of 60 clients: z = 1.3 alone, 10 together. Without a shift, nothing."""
    random = np.random.default_rng(0)
    first, second = random.normal(size=(2, 40, 60))
    worlds = permuted_worlds(range(40), range(40, 80), 199, paired=False)
    assert pooled_auc_test(first + 0.3, second, worlds).p_value == 1 / 200
    assert pooled_auc_test(first, second, worlds).p_value > 0.05
    assert np.median(auc_permutation_test(first + 0.3, second, worlds).p_value) > 0.05


def test_clients_of_the_same_models_are_not_independent() -> None:
    """The same column 50 times: a sum of z-values would be multiplied by 7, the permutation of worlds is not."""
    random = np.random.default_rng(7)
    first, second = random.normal(size=(2, 30, 1))
    worlds = permuted_worlds(range(30), range(30, 60), 199, paired=False)
    one = auc_permutation_test(first, second, worlds).p_value[0]
    many = pooled_auc_test(first.repeat(50, 1), second.repeat(50, 1), worlds).p_value
    assert many == pytest.approx(one)


def test_many_p_values_by_hand() -> None:
    """Benjamini-Hochberg of 0.01, 0.04, 0.03: times 3 / rank, then the smallest from above: 0.03, 0.04, 0.04."""
    assert benjamini_hochberg([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    with pytest.raises(SifuError, match="between 0 and 1"):
        benjamini_hochberg([])


def test_worlds_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SifuError, match="the same seeds in both worlds, and 2 are in one alone"):
        permuted_worlds([1, 2, 3, 4, 5], [1, 2, 3, 4, 6], 9, paired=True)
    with pytest.raises(SifuError, match="a seed comes twice"):
        permuted_worlds([1, 1, 2, 3, 4], [1, 2, 3, 4, 5], 9, paired=False)
    with pytest.raises(TooFewModels, match="at least 5 models a world, and there are 2"):
        permuted_worlds([1, 2], [1, 2], 9, paired=True)
