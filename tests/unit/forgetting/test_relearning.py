"""Relearn time relative to scratch, and the remaining clients that fare worst."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sifu.errors import SifuError
from sifu.forgetting.relearning import relearn_time
from sifu.forgetting.sample import TooFewModels
from sifu.forgetting.worst_decile import worst_decile

YES = np.ones(4, bool)


def test_mean_steps_are_compared() -> None:
    """50 + 100 + 30 + 0 = 180 steps over 100 + 100 + 30 + 10 = 240; who knows the clients at once takes no steps."""
    found = relearn_time([50, 100, 30, 0], [100, 100, 30, 10], YES, YES, range(4))
    assert found.ratio == 0.75
    assert 0 <= found.low < 0.75 < found.high <= 1.0
    assert (found.seeds, found.left_out, found.bound) == (4, 0, "=")


def test_who_is_as_good_as_scratch_has_a_ratio_of_one() -> None:
    """Both take 0, 16 or 32 steps at random, in 9 seeds each pair once: 144 / 144. The mean ratio of the seeds in which
    Scratch took steps would be 1 / 2 (0 + 1 + 2) / 3 + 1 / 2 (0 + 0.5 + 1) / 3 = 0.75.
    """
    own, scratch = np.repeat([0, 16, 32], 3), np.tile([0, 16, 32], 3)
    found = relearn_time(own, scratch, np.ones(9, bool), np.ones(9, bool), range(9))
    assert found.ratio == 1
    assert found.low < 1 < found.high


def test_seeds_that_do_not_get_there_are_counted() -> None:
    """Whoever does not get there more often takes longer than its mean says."""
    late, at_once = [True] * 4 + [False], [True] * 5
    found = relearn_time([5, 5, 5, 5, 5], [0, 10, 15, 15, 10], late, at_once, range(5))
    assert (found.ratio, found.seeds, found.left_out, found.bound) == (0.5, 4, 1, ">=")
    assert relearn_time([5] * 5, [10] * 5, at_once, late, range(5)).bound == "<="
    never = relearn_time([5] * 4, [10] * 4, [False, True, True, True], [False, True, True, True], range(4))
    assert (never.seeds, never.left_out, never.bound) == (3, 1, "=")
    assert np.isnan(relearn_time([5] * 4, [0] * 4, YES, YES, range(4)).ratio), "Scratch knew the clients at once"
    with pytest.raises(TooFewModels, match="relearn time needs at least 3 models a world, and there are 2"):
        relearn_time([1, 1], [1, 1], YES[:2], YES[:2], range(2))
    with pytest.raises(SifuError, match="a number a seed"):
        relearn_time([1, 1], [1, 1, 1], YES[:2], YES[:3], range(2))


@given(st.permutations(range(4)))
def test_the_order_of_seeds_changes_nothing(order: list[int]) -> None:
    own, scratch, seeds = np.array([50.0, 100, 30, 0]), np.array([100.0, 100, 20, 10]), np.arange(4)
    found = relearn_time(own[order], scratch[order], YES, YES, seeds[order])
    wanted = relearn_time(own, scratch, YES, YES, seeds)
    assert (found.ratio, found.low, found.high) == pytest.approx((wanted.ratio, wanted.low, wanted.high))


def test_the_worst_tenth_of_the_remaining_clients() -> None:
    """Of 20 clients the two lowest have 0.1 and 0.2, whoever they are; of 11 two are taken, of one this one."""
    values = np.arange(20, 0, -1) / 10
    assert worst_decile([values, values[::-1]]) == pytest.approx([0.15, 0.15])
    assert worst_decile(values[None, :11]) == pytest.approx([(1.0 + 1.1) / 2])
    assert worst_decile([[0.7]]) == [0.7]
    with pytest.raises(SifuError, match="of a client at least"):
        worst_decile(np.zeros((1, 0)))
