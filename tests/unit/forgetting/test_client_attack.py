"""All clients at once: one that is remembered stands out, a shifted model shows on everyone, and pairs are kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sifu.forgetting.client_attack import client_attack
from sifu.forgetting.sample import TooFewModels

SEEDS = np.arange(120)


def worlds(memory: float, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """T_c of 10 clients; the first is remembered by `memory`, the whole model is off by `shift`."""
    unlearned, oracles = np.random.default_rng(0).normal(size=(2, len(SEEDS), 10))
    unlearned += shift
    unlearned[:, 0] += memory
    return unlearned, oracles


def test_a_remembered_client_stands_out() -> None:
    """Shared seeds: 60 models a world are compared. Two deviations are found in it, and in no remaining client."""
    found = client_attack(*worlds(memory=2.0), SEEDS, SEEDS, draws=199)
    assert found.models == (60, 60)
    assert not found.enough
    assert found.adjusted[0] < 0.1
    assert found.adjusted[1:].min() > 0.1
    assert np.abs(found.auc[1:] - 0.5).max() < 3 * found.null_deviation
    assert found.u_lira.auc[0] > 0.85


def test_a_shift_shows_on_everyone() -> None:
    found = client_attack(*worlds(memory=0.0, shift=1.0), SEEDS, SEEDS + 120, draws=199)
    assert found.models == (120, 120)
    assert (found.adjusted < 0.05).all()
    assert found.pooled_p_value == 1 / 200
    nothing = client_attack(*worlds(memory=0.0), SEEDS, SEEDS + 120, draws=199)
    assert nothing.pooled_p_value > 0.05


def test_pairs_keep_all_models() -> None:
    """A shift of 0.3 under a common part with a deviation of 5 is certain in 40 pairs, and unseen by an attacker, who
    has no pairs and half of the models.
    """
    random = np.random.default_rng(0)
    common, seeds = 5 * random.normal(size=(40, 20)), np.arange(40)
    unlearned = common + 0.3 + 0.5 * random.normal(size=(40, 20))
    pairs, loose = (
        client_attack(unlearned, common, seeds, seeds, paired=paired, draws=199) for paired in (True, False)
    )
    assert (pairs.models, pairs.pooled_p_value) == ((40, 40), 1 / 200)
    assert loose.models == (20, 20)
    assert loose.pooled_p_value > 0.05


@given(st.integers(0, 1000), st.booleans())
def test_the_order_of_seeds_changes_nothing(shuffle: int, paired: bool) -> None:
    random = np.random.default_rng(shuffle)
    unlearned, oracles = worlds(memory=1.0)
    one, two = random.permutation(40), random.permutation(40)
    wanted = client_attack(unlearned[:40], oracles[:40], SEEDS[:40], SEEDS[:40], paired=paired, draws=19)
    found = client_attack(unlearned[one], oracles[two], SEEDS[one], SEEDS[two], paired=paired, draws=19)
    np.testing.assert_array_equal(found.p_value, wanted.p_value)
    np.testing.assert_array_equal(found.auc, wanted.auc)
    assert found.u_lira.auc == pytest.approx(wanted.u_lira.auc)


def test_two_models_are_refused() -> None:
    with pytest.raises(TooFewModels, match="at least 5 models a world, and there are 2"):
        client_attack(np.zeros((2, 1)), np.zeros((2, 1)), [0, 1], [2, 3])
