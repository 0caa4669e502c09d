"""The compact form of L-BFGS, against the recursion of BFGS, and the pairs that it is made from."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sifu.unlearning.lbfgs import Pairs, difference, hessian_product
from tests.reference_unlearning import bfgs_product


def pairs_of(count: int, features: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    """Steps, their products with a positive matrix, and a vector."""
    draw = torch.Generator().manual_seed(count)
    root, steps, vector = (
        torch.randn(*shape, generator=draw, dtype=torch.float64)
        for shape in ((features, features), (count, features), (features,))
    )
    return steps, steps @ (root @ root.T + torch.eye(features)), vector


@pytest.mark.parametrize("count", [1, 2, 4])
def test_it_is_the_recursion_of_bfgs(count: int) -> None:
    steps, changes, vector = pairs_of(count)
    found = hessian_product(steps[None], changes[None], vector[None])[0]
    torch.testing.assert_close(found, bfgs_product(list(zip(steps, changes, strict=True)), vector), rtol=1e-9, atol=0)


def test_the_last_pair_holds_and_earlier_ones_do_not() -> None:
    steps, changes, _ = pairs_of(3)
    found = [hessian_product(steps[None], changes[None], step[None])[0] for step in steps]
    torch.testing.assert_close(found[-1], changes[-1], rtol=1e-9, atol=0)
    assert not torch.allclose(found[0], changes[0], rtol=1e-2)


def test_places_without_a_pair_change_nothing() -> None:
    steps, changes, vector = pairs_of(2)
    none = torch.zeros(3, 6, dtype=torch.float64)
    padded = hessian_product(torch.cat([none, steps])[None], torch.cat([none, changes])[None], vector[None])
    torch.testing.assert_close(padded, hessian_product(steps[None], changes[None], vector[None]), rtol=1e-12, atol=0)
    assert hessian_product(none[None], none[None], vector[None]).tolist() == [[0.0] * 6]


def test_without_positive_curvature_only_the_scale_is_left() -> None:
    """The older pair bends downwards: B v = c v, c from the last one. Two equal rows of others stay as they are."""
    steps, changes, vector = pairs_of(2)
    bent = torch.stack([-changes[0], changes[1]])
    scale = (steps[1] @ changes[1]) / (steps[1] @ steps[1])
    found = hessian_product(torch.stack([steps, steps]), torch.stack([bent, changes]), torch.stack([vector, vector]))
    torch.testing.assert_close(found[0], scale * vector)
    assert torch.equal(found[1], hessian_product(steps[None], changes[None], vector[None])[0])


def test_pairs_are_those_of_the_last_rounds() -> None:
    """Two seeds, three clients, two pairs each. Client 2 of seed 0 has three rounds: the first goes."""
    pairs = Pairs.none(torch.ones(2, 3), 2, torch.zeros(2, 4))
    cohort = torch.tensor([[2, 0], [1, -1]])
    for number in (1.0, 2.0, 3.0):
        step, change = torch.full((2, 4), number), torch.full((2, 2, 4), 10 * number)
        pairs.add(cohort, torch.tensor([[True, number < 2], [False, False]]), step, change)
    assert pairs.steps[0, :, :, 0].tolist() == [[0.0, 1.0], [0.0, 0.0], [2.0, 3.0]]
    assert pairs.changes[0, :, :, 0].tolist() == [[0.0, 10.0], [0.0, 0.0], [20.0, 30.0]]
    assert not pairs.steps[1].any()
    assert pairs.known(torch.tensor([[0, 1], [0, 1]])).tolist() == [[True, False], [False, False]]
    pairs.add(cohort, torch.ones(2, 2, dtype=torch.bool)[:, :1].expand(2, 2), torch.zeros(2, 4), torch.ones(2, 2, 4))
    assert pairs.steps[0, 0, :, 0].tolist() == [0.0, 1.0]  # a step of zeros says nothing


def test_a_difference_of_rounding_is_none() -> None:
    model = torch.ones(2, 100)
    other = model + torch.tensor([[1e-7], [1e-4]])
    assert not difference(model, other)[0].any()
    assert torch.equal(difference(model, other)[1], (model - other)[1])
