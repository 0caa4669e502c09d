"""U-LiRA on clients: its null, a planted shift, the pair of models, and no fit that saw its model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import kstest

from sifu.forgetting.sample import TooFewModels
from sifu.forgetting.seeds import folds, permuted_within_folds
from sifu.forgetting.u_lira import cross_fitted, log_ratio, pair, u_lira, u_lira_test
from tests import reference_forgetting

SEEDS = np.arange(100), np.arange(100, 200)  # disjoint halves


def draws(models: int, columns: int, key: int = 0) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.random.default_rng(key).normal(size=(2, models, columns))
    return first, second


def test_oracles_against_oracles() -> None:
    """400 clients of 100 models a world: their mean is 0.5 within three deviations of a mean, and each within four of
    its null. That null is of one fold: the mean of two has at most it, and at least its 1 / sqrt 2.
    """
    found = u_lira(*draws(100, 400), *SEEDS)
    assert abs(found.auc.mean() - 0.5) < 3 * found.null_deviation / np.sqrt(400)
    assert np.abs(found.auc - 0.5).max() < 4 * found.null_deviation
    assert found.null_deviation / np.sqrt(2) < found.auc.std() < found.null_deviation
    assert found.enough
    low = found.low_rates()
    assert low[0.01].alarms <= low[0.01].allowed == 400
    assert low[0.01].hits < 0.02 * low[0.01].positives


@pytest.mark.parametrize("shift", [1.0, 2.0, -1.0])
def test_a_planted_shift_is_found(shift: float) -> None:
    """Two Gaussians at a distance k are told apart with AUC Phi(|k| / sqrt 2), in either direction. 400 clients' mean
    has a deviation below 0.003; a fit to 50 models costs up to 0.01.
    """
    unlearned, oracles = draws(100, 400)
    found = u_lira(unlearned + shift, oracles, *SEEDS)
    assert found.auc.mean() == pytest.approx(ndtr(abs(shift) / np.sqrt(2)), abs=0.012)
    assert found.low_rates(0)[0.01].negatives == 100


def test_a_wider_world_is_found_without_a_shift() -> None:
    """AUC of the margin itself is 0.5; the likelihood ratio sees that unlearned models spread twice as much."""
    unlearned, oracles = draws(100, 200)
    assert u_lira(2 * unlearned, oracles, *SEEDS).auc.mean() > 0.65


def test_the_pair_tells_more_than_its_models() -> None:
    """Before and after are the same but for 0.3 deviations: neither alone shows a shift that the difference shows."""
    random = np.random.default_rng(0)
    before, other = random.normal(size=(2, 100, 50))
    after = before + 0.3 + 0.1 * random.normal(size=(100, 50))
    scratch = other + 0.1 * random.normal(size=(100, 50))
    assert u_lira(after, scratch, *SEEDS).auc.mean() < 0.65
    assert u_lira(pair(before, after), pair(other, scratch), *SEEDS).auc.mean() > 0.95


def test_scores_by_hand() -> None:
    """The vectorised fit is the plain loop's, a client after the other."""
    unlearned, oracles = draws(11, 3)
    own, other = folds(range(11), range(11, 22))
    found = cross_fitted(unlearned, oracles, own, other)
    for client in range(3):
        wanted = reference_forgetting.cross_fitted(
            unlearned[:, client].tolist(), oracles[:, client].tolist(), own.tolist(), other.tolist()
        )
        assert found[0][:, client] == pytest.approx(wanted[0], rel=1e-6)
        assert found[1][:, client] == pytest.approx(wanted[1], rel=1e-6)


def test_no_model_is_scored_by_a_fit_that_saw_it() -> None:
    """Seed 0 is in the upper fold: if its model moves, scores of the lower fold move, and no other one of its own."""
    unlearned, oracles = draws(20, 1)
    seeds = np.arange(20), np.arange(20, 40)
    moved = unlearned.copy()
    moved[0] += 5
    before, after = (u_lira(world, oracles, *seeds) for world in (unlearned, moved))
    changed = before.unlearned[:, 0] != after.unlearned[:, 0]
    fold = folds(*seeds)[0]
    assert fold[0]
    assert changed[~fold].all()
    assert changed[fold].tolist() == [True] + [False] * 9


@given(st.integers(0, 1000), st.booleans())
def test_the_order_of_seeds_changes_nothing(shuffle: int, coupled: bool) -> None:
    random = np.random.default_rng(shuffle)
    unlearned, oracles = random.normal(size=(2, 12, 3))
    seeds = np.arange(12), np.arange(12) + (0 if coupled else 12)
    one, two = random.permutation(12), random.permutation(12)
    found = u_lira(unlearned, oracles, *seeds).auc
    assert u_lira(unlearned[one], oracles[two], seeds[0][one], seeds[1][two]).auc == pytest.approx(found, abs=1e-12)


def test_p_values_of_the_fitted_attack_are_uniform() -> None:
    """Gaussians are fitted anew under each permutation, so that 150 clients' p-values are uniform all the same."""
    unlearned, oracles = draws(24, 150)
    seeds = np.arange(24), np.arange(24, 48)
    found = u_lira_test(unlearned, oracles, *seeds, 99)
    assert kstest(found.p_value, "uniform").pvalue > 0.01
    assert found.observed == pytest.approx(u_lira(unlearned, oracles, *seeds).auc)
    assert u_lira_test(unlearned + 1, oracles, *seeds, 99, pooled=True).p_value == 0.01


def test_coupled_seeds_are_permuted_in_pairs() -> None:
    """Worlds that share most of a seed: a shift of 0.06 of the spread is certain in pairs, and unseen without."""
    random = np.random.default_rng(0)
    common, seeds = 5 * random.normal(size=(40, 20)), np.arange(40)
    unlearned, oracles = common + 0.3 + 0.5 * random.normal(size=(40, 20)), common
    pairs, loose = (
        u_lira_test(unlearned, oracles, seeds, seeds, 99, paired=paired, pooled=True) for paired in (True, False)
    )
    assert pairs.p_value == 0.01
    assert loose.p_value > 0.05


def test_permutations_keep_folds_and_pairs() -> None:
    seeds = np.arange(40)
    paired, loose = (permuted_within_folds(seeds, seeds, 50, paired=paired) for paired in (True, False))
    assert (paired[:, :40] ^ paired[:, 40:]).all(), "of every seed one model"
    part = folds(seeds, seeds)[0]
    assert (loose[:, np.concatenate([part, part])].sum(1) == 20).all(), "as many in each fold as before"


def test_equal_models_are_no_error() -> None:
    """A statistic that all models share: nothing is divided by 0, and nothing is told apart."""
    assert u_lira(np.ones((10, 1)), np.ones((10, 1)), np.arange(10), np.arange(10, 20)).auc == 0.5
    assert np.isfinite(log_ratio(np.ones((4, 1)), np.zeros((4, 1)), np.ones((1, 1)))).all()


def test_two_models_are_refused() -> None:
    with pytest.raises(TooFewModels, match="U-LiRA needs at least 10 models a world, and there are 2"):
        u_lira(np.zeros((2, 1)), np.zeros((10, 1)), range(2), range(2, 12))
    assert not u_lira(*draws(10, 1), range(10), range(10, 20)).enough
