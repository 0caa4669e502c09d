"""All clients at once: one that is remembered stands out, a shifted model shows on everyone, and pairs are kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sifu.forgetting.client_attack import client_attack
from sifu.forgetting.sample import TooFewModels
from sifu.forgetting.u_lira import u_lira_test

SEEDS = np.arange(60)


def worlds(memory: float, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """T_c of 10 clients; the first is remembered by `memory`, the whole model is off by `shift`."""
    unlearned, oracles = np.random.default_rng(0).normal(size=(2, len(SEEDS), 10))
    unlearned += shift
    unlearned[:, 0] += memory
    return unlearned, oracles


def test_a_remembered_client_stands_out() -> None:
    """Two deviations are found in it, and in no remaining client."""
    found = client_attack(*worlds(memory=2.0), SEEDS, draws=199)
    assert found.adjusted[0] <= 0.05
    assert found.adjusted[1:].min() > 0.05
    assert found.told == 0.1
    assert found.auc[0] > 0.85


def test_a_shift_shows_on_everyone() -> None:
    found = client_attack(*worlds(memory=0.0, shift=1.0), SEEDS, draws=199)
    assert found.told == 1
    assert found.pooled_p_value == 1 / 200
    nothing = client_attack(*worlds(memory=0.0), SEEDS, draws=199)
    assert nothing.pooled_p_value > 0.05
    assert nothing.told == 0


def test_pairs_see_what_an_attacker_does_not() -> None:
    """A shift of 0.3 under a common part with a deviation of 5 is certain in 40 pairs, and unseen without them."""
    random = np.random.default_rng(0)
    common, seeds = 5 * random.normal(size=(40, 20)), np.arange(40)
    unlearned = common + 0.3 + 0.5 * random.normal(size=(40, 20))
    assert client_attack(unlearned, common, seeds, draws=199).pooled_p_value == 1 / 200
    assert u_lira_test(unlearned, common, seeds, seeds + 40, draws=39, pooled=True).p_value > 0.05


def test_one_of_ninety_is_found() -> None:
    """The smallest p-value of 999 permutations, times 90, is 0.09: so many clients get more permutations."""
    unlearned, oracles = np.random.default_rng(0).normal(size=(2, 40, 90))
    unlearned[:, 7] += 3.0
    found = client_attack(unlearned, oracles, np.arange(40))
    assert np.flatnonzero(found.adjusted <= 0.05).tolist() == [7]
    assert found.told == pytest.approx(1 / 90)
    few = client_attack(unlearned[:, :9], oracles[:, :9], np.arange(40))
    assert few.p_value[7] == 1 / 1000  # no fewer than these


@given(st.integers(0, 1000))
def test_the_order_of_seeds_changes_nothing(shuffle: int) -> None:
    order = np.random.default_rng(shuffle).permutation(40)
    unlearned, oracles = worlds(memory=1.0)
    wanted = client_attack(unlearned[:40], oracles[:40], SEEDS[:40], draws=19)
    found = client_attack(unlearned[order], oracles[order], SEEDS[order], draws=19)
    np.testing.assert_array_equal(found.p_value, wanted.p_value)
    np.testing.assert_array_equal(found.auc, wanted.auc)


def test_two_models_are_refused() -> None:
    with pytest.raises(TooFewModels, match="at least 5 models a world, and there are 2"):
        client_attack(np.zeros((2, 1)), np.zeros((2, 1)), [0, 1])
