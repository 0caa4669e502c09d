"""PUF: linear in its factor, a round of FedAvg with the opposite sign, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from sifu.contract.world import World, masks
from sifu.methods.puf import Puf
from tests.quadratic_clients import CLIENTS, FEATURES, STEPS, forgotten_by, quadratic_lineage

UPDATES = pytest.mark.parametrize("updates", ["regular", "special", "stored"])


@UPDATES
def test_it_is_linear_in_its_factor(updates: str) -> None:
    method = Puf(updates=updates)
    none, one, three = (
        forgotten_by(replace(method, factor=factor), quadratic_lineage(30))[0] for factor in (0.0, 1.0, 3.0)
    )
    torch.testing.assert_close(three - none, 3 * (one - none), rtol=1e-9, atol=1e-12)
    if updates != "regular":
        assert torch.equal(none, quadratic_lineage(30).current[0])


def test_the_published_factors_are_the_defaults() -> None:
    """lambda: 20 for `regular`, 2 for `special`; distances of quadratic clients are those of the closed forms."""
    for updates, factor in (("regular", 20.0), ("special", 2.0), ("stored", 2.0)):
        own, named = (
            forgotten_by(method, quadratic_lineage(30))[0]
            for method in (Puf(updates=updates), Puf(updates=updates, factor=factor))
        )
        assert torch.equal(own, named)


def test_everybody_with_a_factor_of_minus_one_is_a_round() -> None:
    """W = all: theta + mean of their updates is what FedAvg would do next. The rounds of 31 are those of 30 and one."""
    model, _ = forgotten_by(Puf(factor=-1.0), quadratic_lineage(30), tuple(range(CLIENTS)))
    torch.testing.assert_close(model, quadratic_lineage(31).current[0], rtol=1e-12, atol=0)


@pytest.mark.second
def test_stored_updates_are_those_of_the_last_round() -> None:
    """After convergence a client's update is the same in every round: as special, to the last round's distance."""
    stored, special = (forgotten_by(Puf(updates=name), quadratic_lineage(60))[0] for name in ("stored", "special"))
    torch.testing.assert_close(stored, special, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("updates", "clients"), [("regular", CLIENTS), ("special", 1), ("stored", 0)])
def test_what_it_costs(updates: str, clients: int) -> None:
    _, server = forgotten_by(Puf(updates=updates), quadratic_lineage(30))
    assert server.spent.client_steps.tolist() == [clients * STEPS]
    assert server.spent.rounds.tolist() == [min(1, clients)]
    assert server.spent.comm_floats.tolist() == [clients * 2 * FEATURES]


def test_a_budget_for_the_clients_to_forget_alone_moves_nothing() -> None:
    """With nobody else's update their share would be 1, and a step of 20 updates five times too long."""
    model, server = forgotten_by(Puf(updates="regular"), quadratic_lineage(30), budget=STEPS)
    assert server.spent.client_steps.tolist() == [STEPS]
    assert torch.equal(model, quadratic_lineage(30).current[0])


@UPDATES
def test_clients_count_by_their_examples(updates: str) -> None:
    """Several clients to forget, of different sizes, through three requests: nothing diverges, all seeds move."""
    world = World.make()
    for answer, forget in zip(world.answer(Puf(updates=updates), rounds=2), masks(7, 3), strict=True):
        assert answer.unlearned.weights.isfinite().all()
        asked = {"regular": 3 + int(forget[0].sum()), "special": int(forget[0].sum()), "stored": 0}[updates]
        assert (answer.work.client_steps == 2 * asked + 2 * 3 * 2).all()  # K = 2; two rounds of three clients


def test_a_cohort_stands_for_all_that_remain() -> None:
    """Three of seven clients are asked next to the ones to forget, whose weight is their share of all examples."""
    world, (forget, *_) = World.make(), masks(7, 3)

    def pushed(updates: str) -> torch.Tensor:
        """What a factor of 6 adds."""
        far, near = (world.answer(Puf(updates=updates, factor=factor), rounds=2)[0] for factor in (6.0, 0.0))
        return far.unlearned.segment.start - near.unlearned.segment.start  # [S, P]

    size = world.lineage.engine.clients.size.double()  # [S, C]
    share = size.where(forget, 0.0).sum(1) / size.sum(1)
    torch.testing.assert_close(
        pushed("regular"), share[:, None] * pushed("special"), rtol=1e-3, atol=1e-6, check_dtype=False
    )
