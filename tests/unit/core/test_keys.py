"""Randomness from names: reproducible, independent, and of the right distribution."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sifu.core.keys import Keys, _normal_quantile

SEED = st.integers(0, 2**63 - 1)


def test_first_values_never_change() -> None:
    """Results of different versions are comparable only if the draws are: these came from the first version.

    The first number is SplitMix64's well-known first output for seed 0, 0xE220A8397B1DCDAF, as a signed integer.
    """
    assert Keys.of([0]).state.tolist() == [0xE220A8397B1DCDAF - 2**64]
    assert Keys.of([0, 1]).fold("train", 3).bits(2).tolist() == FIRST_BITS


FIRST_BITS = [[-8377732614360047113, 3780289198991803542], [3753624591346311905, 3994977446590597828]]


@given(SEED, st.text(max_size=5), st.integers(0, 10**6))
def test_a_draw_depends_on_names_alone(seed: int, name: str, number: int) -> None:
    alone = Keys.of([seed]).fold(name, number).uniform(4)
    among = Keys.of([seed + 1, seed, 5]).fold(name, number).uniform(6)
    assert torch.equal(alone[0], among[1, :4])


@given(st.sets(st.integers(0, 99), min_size=1, max_size=20))
def test_removing_clients_does_not_change_the_draws_of_others(removed: set[int]) -> None:
    keys = Keys.of([3]).fold("cohort", 7)
    everyone = torch.arange(100)
    rest = torch.tensor([c for c in range(100) if c not in removed])
    assert torch.equal(keys.each(everyone).state[0, rest], keys.each(rest).state[0])


def test_folding_step_by_step_or_at_once_is_the_same() -> None:
    keys = Keys.of([1, 2])
    assert torch.equal(keys.fold("a", 1).state, keys.fold("a").fold(1).state)
    grid = keys.fold(torch.tensor([4, 9])).each(torch.arange(3)).state
    assert grid.shape == (2, 3)
    assert int(grid[1, 2]) == int(keys.rows(1).fold(9, 2).state)


def test_order_and_boundaries_of_names_matter() -> None:
    keys = Keys.of([0])
    states = [keys.fold(*words).state.item() for words in (("a", "b"), ("b", "a"), ("ab",), ("a",), ("a", 0), (0, "a"))]
    assert len(set(states)) == len(states)


@pytest.mark.parametrize("pair", [("cohort", "batches"), ("init", "noise"), ("a", "b")])
def test_streams_with_different_names_are_independent(pair: tuple[str, str]) -> None:
    first, second = (Keys.of(range(20)).fold(name).normal(5_000).flatten() for name in pair)
    # the correlation of 100,000 independent pairs has a standard deviation of 0.0032
    assert abs(float(torch.corrcoef(torch.stack([first, second]))[0, 1])) < 5 * 0.0032


def test_neighbouring_seeds_rounds_and_clients_are_independent() -> None:
    draws = Keys.of([0, 1]).fold(torch.arange(2)).fold("x").normal(50_000)  # [2, 50000]: (seed 0, 0), (seed 1, 1)
    rounds = torch.stack([Keys.of([0]).fold("r", n).normal(50_000)[0] for n in (1, 2)])
    for sample in (draws, rounds):
        assert abs(float(torch.corrcoef(sample)[0, 1])) < 5 / 50_000**0.5


def test_uniform_statistics() -> None:
    draws = Keys.of(range(10)).fold("u").uniform(100_000).flatten()
    count = len(draws)
    assert draws.min() >= 0
    assert draws.max() < 1
    assert abs(float(draws.mean()) - 1 / 2) < 5 * (1 / 12 / count) ** 0.5
    counts = torch.histc(draws.float(), 100, 0, 1)  # chi-squared with 99 degrees: mean 99, standard deviation 14.1
    assert abs(float(((counts - count / 100) ** 2 / (count / 100)).sum()) - 99) < 5 * 14.1


def test_every_bit_is_fair() -> None:
    bits = Keys.of(range(10)).fold("b").bits(10_000).flatten()
    ones = torch.stack([(bits >> i) & 1 for i in range(64)]).double().mean(1)
    assert float((ones - 0.5).abs().max()) < 5 * 0.5 / len(bits) ** 0.5


def test_normal_statistics() -> None:
    """Moments 0, 1, 0, 3 of a million draws, within 5 standard errors (1, sqrt 2, sqrt 15, sqrt 96 over 1000)."""
    draws = Keys.of(range(10)).fold("n").normal(100_000).flatten()
    for power, moment, deviation in ((1, 0, 1), (2, 1, 2**0.5), (3, 0, 15**0.5), (4, 3, 96**0.5)):
        assert abs(float((draws**power).mean()) - moment) < 5 * deviation / 1000
    share = float((draws.abs() > 3).double().mean())  # 0.0027 of a normal distribution
    assert abs(share - 0.0027) < 5 * (0.0027 / 1e6) ** 0.5


def test_normal_quantile_against_torch() -> None:
    """To 1e-13 from the far tail to the centre, on both sides."""
    low = torch.logspace(-300, -0.31, 5_000, dtype=torch.float64)
    p = torch.cat([low, 1 - torch.logspace(-14, -0.31, 5_000, dtype=torch.float64)])
    torch.testing.assert_close(_normal_quantile(p), torch.special.ndtri(p), rtol=1e-13, atol=1e-14)


def test_permutations_are_permutations_and_unbiased() -> None:
    orders = Keys.of(range(6_000)).permutation(3)  # 6 orders, 1000 of each expected, standard deviation 28.9
    assert torch.equal(orders.sort(dim=1).values, torch.arange(3).expand(6_000, 3))
    counts = (orders @ torch.tensor([9, 3, 1])).unique(return_counts=True)[1]
    assert len(counts) == 6
    assert int((counts - 1000).abs().max()) < 5 * 28.9


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_same_bits_on_cpu_and_gpu() -> None:
    cpu, gpu = (Keys.of(range(8), device).fold("train", 5) for device in ("cpu", "cuda"))
    for name in ("bits", "uniform", "normal", "permutation"):
        assert torch.equal(getattr(cpu, name)(100_000), getattr(gpu, name)(100_000).cpu()), name
