"""Rounds of the past once more: only where they were."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sifu.certificate.rules import PRESETS
from sifu.contract.world import World, masks
from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.rounds import Round
from sifu.federation.stop import Stop
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.past_round import PastRound, train_again
from sifu.unlearning.replay_cache import ReplayCache
from sifu.unlearning.stored_round import stored_rounds


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The seeds of every round that is trained from here on."""
    seen: list[list[int]] = []
    plain = Engine.train_cohort

    def noted(self: Engine, weights: Tensor, seeds: Tensor, *rest: object) -> Round:
        seen.append(seeds.tolist())
        return plain(self, weights, seeds, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "train_cohort", noted)
    return seen


def past_of(world: World, kept: list[int]) -> PastRound:
    """Round 2 of the training, for seeds that have kept so many rounds."""
    return PastRound.of(world.lineage.segments[0], 0, 2, torch.tensor(kept))


def test_a_seed_without_the_round_stands_still_and_costs_nothing(trained: list[list[int]]) -> None:
    world = World.make()
    engine, weights = world.lineage.engine, world.lineage.current
    trained.clear()
    whole = train_again(engine, weights, past_of(world, [8, 8, 8]))
    some = train_again(engine, weights, past_of(world, [8, 2, 3]))
    assert trained == [[0, 1, 2], [0, 2]]
    assert torch.equal(some.local[[0, 2]], whole.local[[0, 2]])
    assert torch.equal(some.weights[[0, 2]], whole.weights[[0, 2]])
    assert torch.equal(some.weights[1], weights[1])
    assert torch.equal(some.local[1], weights[1].expand_as(some.local[1]))
    assert some.cohort.tolist() == [whole.cohort[0].tolist(), [-1] * 3, whole.cohort[2].tolist()]


def test_where_no_seed_has_the_round_nothing_is_trained(trained: list[list[int]]) -> None:
    world = World.make()
    trained.clear()
    result = train_again(world.lineage.engine, world.lineage.current, past_of(world, [0, 1, 2]))
    assert trained == []
    assert torch.equal(result.weights, world.lineage.current)


def grown(world: World, start: Tensor, rounds: list[int], remain: Tensor) -> Lineage:
    """A second branch from `start`, with no room to keep its rounds, and no models but the first."""
    stop, keys = Stop(None, 0, torch.tensor(rounds)), Keys.of(world.seeds).fold("branch")
    branch = world.lineage.engine.run(start, remain, keys, stop, snapshot_every=1000)
    return replace(world.lineage.grow(world.lineage.end, branch), cache=ReplayCache(room=0))


def test_updates_are_walked_in_the_seeds_that_have_them(trained: list[list[int]]) -> None:
    """Branches of 1, 3 and 0 rounds: one round with seeds 0 and 1, two with seed 1."""
    world, remain = World.make(), ~masks(7, 3)[0]
    history = grown(world, world.lineage.current, [1, 3, 0], remain)
    trained.clear()
    sums = sum(update for _, _, update in history.updates(1, remain))
    assert trained == [[0, 1], [1], [1]]
    assert isinstance(sums, Tensor)
    torch.testing.assert_close(world.lineage.current + sums, history.current, rtol=1e-5, atol=1e-6)


def test_a_seed_that_is_lost_does_not_stop_the_others() -> None:
    """Its branch begins with infinite weights and has no round; those of the other seeds add up as without it."""
    world, remain = World.make(), ~masks(7, 3)[0]
    lost = world.lineage.current.clone()
    lost[1] = torch.inf
    found = grown(world, lost, [3, 3, 3], remain)
    assert found.segments[1].rounds.tolist() == [3, 0, 3]
    sound = grown(world, world.lineage.current, [3, 0, 3], remain)
    assert torch.equal(found.accumulated(remain, 1)[[0, 2]], sound.accumulated(remain, 1)[[0, 2]])


def test_a_client_that_overflows_does_not_hide_what_others_add_to_psi() -> None:
    """Client 2 stays, and was infinitely far away once: Psi of client 1 is what it is without that."""
    world = World.make()
    segment, clients = world.lineage.segments[0], masks(7, 3)[0]
    there = segment.trace.cohort == 2
    assert there.any()
    trace = replace(segment.trace, distance=segment.trace.distance.masked_fill(there, torch.inf))
    far = replace(world.lineage, segments=(replace(segment, trace=trace),))
    found, wanted = (history.sensitivity(clients, PRESETS["published"], 1.0)[0] for history in (far, world.lineage))
    assert torch.equal(found, wanted)


def test_stored_rounds_are_models_and_updates_of_the_chosen_clients() -> None:
    """The mean of the updates, added to the model of each round, is what `updates` gives; empty places are zero."""
    world = World.make()
    remain = ~masks(7, 3)[1]
    lineage = world.lineage
    for stored, (past, weights, mean) in zip(stored_rounds(lineage, remain), lineage.updates(0, remain), strict=True):
        assert torch.equal(stored.model, weights)
        assert torch.equal(stored.past.cohort, past.cohort)
        assert not stored.update[past.cohort < 0].any()
        found = lineage.engine.weighted_mean(weights, weights[:, None] + stored.update, past.cohort)
        torch.testing.assert_close(found - weights, mean, rtol=1e-4, atol=1e-6)


def test_a_round_of_the_past_keeps_clients_and_lengths_together() -> None:
    past = PastRound(
        0,
        0,
        torch.tensor([[1, 2, 5], [0, 3, -1]]),
        torch.tensor([[0.1, 0.2, 0.5], [0.0, 0.3, 0.0]]),
        torch.zeros(2, 3, 1),
        torch.zeros(2, dtype=torch.int64),
        torch.tensor([True, True]),
    )
    allowed = torch.ones(2, 7, dtype=torch.bool)
    allowed[0, 1] = allowed[1, 0] = False
    only = past.only(allowed)
    assert only.cohort.tolist() == [[2, 5, -1], [3, -1, -1]]
    assert only.norm[0, :2].tolist() == pytest.approx([0.2, 0.5])
    assert only.norm[1, 0] == pytest.approx(0.3)
    assert only.visits.tolist() == [2, 1]
    assert past.hide(~allowed).cohort.tolist() == [[-1, 2, 5], [-1, 3, -1]]
