"""RULI's three worlds: its densities, its two games, and roles that depend on seeds alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import gaussian_kde

from sifu.errors import SifuError
from sifu.forgetting.ruli import Role, density_score, drawn_roles, efficacy_game, log_density, privacy_game
from sifu.forgetting.sample import TooFewModels

SEEDS, CLIENTS = np.arange(150), 20
ROLES = drawn_roles(range(150), CLIENTS)


def statistics(memory: float, unlearned: float, key: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """T_c of original and unlearned models: `memory` of whoever took part, `unlearned` of whoever was forgotten."""
    before, after = np.random.default_rng(key).normal(size=(2, len(SEEDS), CLIENTS))
    before += memory * (ROLES != Role.OUT)
    after += memory * (ROLES == Role.IN) + unlearned * (ROLES == Role.UNLEARN)
    return before, after


def test_densities_are_scipys() -> None:
    """The same kernels and the same bandwidth, s n^(-1/5), in logarithms."""
    random = np.random.default_rng(0)
    sample, at = random.normal(3, 5, 40), random.normal(3, 8, 30)
    assert log_density(sample, at) == pytest.approx(gaussian_kde(sample, "scott").logpdf(at), rel=1e-9)


def test_far_from_both_samples_a_score_is_still_a_number() -> None:
    """Densities at 1,000 deviations are 0; the ratio of two equal ones is a half, of the nearer one 1."""
    sample = np.linspace(-1, 1, 10)
    assert density_score(sample, sample, np.array([1e3])) == 0.5
    assert density_score(sample + 5, sample, np.array([1e3])) == 1.0
    assert density_score(np.ones(10), np.zeros(10), np.array([1.0, 0.0])).tolist() == [1.0, 0.0]


def test_perfect_unlearning_is_at_the_null() -> None:
    """Who was unlearned is as who was never seen: the mean over 20 clients is within three deviations of 0.5."""
    before, after = statistics(memory=2.0, unlearned=0.0)
    for game in (privacy_game(after, ROLES, SEEDS), efficacy_game(before, after, ROLES, SEEDS)):
        assert abs(game.auc.mean() - 0.5) < 3 * game.null_deviation[0] / np.sqrt(CLIENTS)
        assert not game.enough, "50 models a role are fewer than advised"


def test_what_is_left_is_found() -> None:
    """A shift of 1 has AUC Phi(1 / sqrt 2) = 0.76; fits to 25 models lose up to 0.04. Low rates are counts."""
    before, after = statistics(memory=2.0, unlearned=1.0)
    for game in (privacy_game(after, ROLES, SEEDS), efficacy_game(before, after, ROLES, SEEDS)):
        assert ndtr(1 / np.sqrt(2)) - 0.05 < game.auc.mean() < ndtr(1 / np.sqrt(2)) + 0.01
        low = game.low_rates()[0.01]
        assert (low.positives, low.negatives, low.allowed) == (1000, 1000, 10)
        assert low.alarms <= 10 < low.hits


def test_a_shift_of_all_unlearned_models_is_no_breach_of_privacy() -> None:
    """Every unlearned model is off by 3, whoever is asked: the privacy game is at its null, the other is lost."""
    before, after = statistics(memory=2.0, unlearned=0.0)
    assert abs(privacy_game(after + 3, ROLES, SEEDS).auc.mean() - 0.5) < 0.06
    assert efficacy_game(before, after + 3, ROLES, SEEDS).auc.mean() > 0.95


def test_roles_are_a_third_each_and_depend_on_seeds_alone() -> None:
    for role in Role:
        assert ((role == ROLES).sum(0) == 50).all()
    np.testing.assert_array_equal(drawn_roles([7, 100, 3], CLIENTS), ROLES[[7, 100, 3]])
    np.testing.assert_array_equal(drawn_roles(range(9), 5), ROLES[:9, :5])
    assert 0.2 < (ROLES[:, 0] == ROLES[:, 1]).mean() < 0.5, "clients have roles of their own"


@given(st.integers(0, 1000))
def test_the_order_of_seeds_changes_nothing(shuffle: int) -> None:
    order = np.random.default_rng(shuffle).permutation(60)
    _, after = statistics(2.0, 1.0)
    found = privacy_game(after[:60, :2], ROLES[:60, :2], SEEDS[:60]).auc
    assert privacy_game(after[order, :2], ROLES[order, :2], SEEDS[order]).auc == pytest.approx(found, abs=1e-12)


def test_few_models_and_other_shapes_are_refused() -> None:
    _, after = statistics(2.0, 1.0)
    with pytest.raises(TooFewModels, match="RULI needs at least 10 models a world, and there are 4"):
        privacy_game(after[:12], ROLES[:12], SEEDS[:12])
    with pytest.raises(SifuError, match="statistics and roles"):
        privacy_game(after, ROLES[:, :3], SEEDS)
