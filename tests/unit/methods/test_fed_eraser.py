"""FedEraser: the plain loop, and what a budget does to calibration."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sifu.config.federation import Target
from sifu.contract.world import World, masks
from sifu.core.keys import Keys
from sifu.core.types import Status
from sifu.federation.segment import Segment
from sifu.federation.stop import Stop
from sifu.methods.fed_accum import FedAccum
from sifu.methods.fed_eraser import FedEraser
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Footprint
from tests import reference_unlearning
from tests.contract.answer import nobody, server_for, unlearn
from tests.quadratic_clients import REMAIN, STEPS, forgotten_by, quadratic_lineage

EVERY_ROUND = FedEraser(every=1, calibration=1.0)


@pytest.mark.parametrize("length", ["client", "layer", "none"])
def test_with_nobody_removed_fed_eraser_is_the_training(length: str) -> None:
    """r = 1, dt = 1 and the same batches: direction and length coincide, to the last bit."""
    world = World.make()
    request, server = server_for(world, nobody(world))
    found = unlearn(replace(EVERY_ROUND, length=length), world.lineage, request, server, Keys.of(world.seeds))
    assert torch.equal(found.segment.final, world.lineage.current)
    assert server.spent.rounds.tolist() == [7, 7, 7]  # of 8: the first needs no calibration


def test_each_round_after_the_first_asks_every_remaining_client() -> None:
    _, server = forgotten_by(EVERY_ROUND, quadratic_lineage(30))
    assert server.spent.client_steps.tolist() == [29 * len(REMAIN) * STEPS]


@pytest.mark.parametrize("length", ["client", "layer"])
def test_only_the_direction_of_a_calibration_counts(length: str) -> None:
    """Multiplying what the clients did by 7 changes nothing."""
    world = World.make()
    server, model = server_for(world, nobody(world))[1], world.lineage.start
    past = next(world.lineage.retained(1))
    local = model.unsqueeze(1) + 0.01 * torch.randn(3, 3, model.shape[1], generator=torch.Generator().manual_seed(1))
    far = model.unsqueeze(1) + 7 * (local - model.unsqueeze(1))
    method = FedEraser(length=length)
    one, other = (method._rescale(server, model, part, past) for part in (local, far))
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
    norms = server.layer_norms(one - model.unsqueeze(1))
    recorded = past.layer_norm if length == "layer" else past.norm
    torch.testing.assert_close(norms if length == "layer" else norms.norm(dim=-1), recorded, rtol=1e-3, atol=1e-5)


def test_an_update_of_nothing_stays_nothing() -> None:
    world = World.make()
    model, past = world.lineage.start, next(world.lineage.retained(1))
    server = server_for(world, nobody(world))[1]
    local = model.unsqueeze(1).expand(3, 3, -1)
    for length in ("client", "layer"):
        assert torch.equal(FedEraser(length=length)._rescale(server, model, local, past), local)


def test_a_leaver_that_was_in_no_kept_round_changes_nothing() -> None:
    world = World.make()
    kept = world.lineage.segments[0].trace.cohort[:, ::4]  # [S, 2, m]
    absent = [next(c for c in range(7) if c not in kept[s]) for s in range(3)]
    forget = nobody(world)
    forget[torch.arange(3), absent] = True
    method, keys = FedEraser(every=4), Keys.of(world.seeds)
    finals = []
    for clients in (forget, nobody(world)):
        request, server = server_for(world, clients)
        finals.append(unlearn(method, world.lineage, request, server, keys).segment.final)
    assert torch.equal(*finals)


def stored_updates(world: World, seed: int) -> list[reference_unlearning.Update]:
    """What every client sent in every round of the training, from the trainer's own replay."""
    history = world.lineage
    found = []
    for number, rows, _, result in history.engine.walk(history.segments[0]):
        before = history.at(torch.full((3,), number))[rows]
        update = (result.local - before.unsqueeze(1))[seed]
        found.append({c: update[j] for j, c in enumerate(result.cohort[seed].tolist()) if c >= 0})
    return found


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_both_agree_with_the_plain_loop(seed: int) -> None:
    world = World.make()
    forget = masks(7, 3)[1]
    request, server = server_for(world, forget)
    engine, history = world.lineage.engine, world.lineage
    stored = stored_updates(world, seed)
    size, remain = engine.clients.size[seed].tolist(), request.remain[seed].nonzero().flatten().tolist()
    accumulated = unlearn(FedAccum(), history, request, server, Keys.of(world.seeds)).segment.final[seed]
    expected = reference_unlearning.fed_accum(history.start[seed], stored, size, remain)
    torch.testing.assert_close(accumulated, expected, rtol=1e-4, atol=1e-6)

    def calibrate(number: int, client: int, weights: Tensor) -> Tensor:
        keys = Keys(history.segments[0].key_state[[seed]])
        rows = torch.tensor([seed]), torch.tensor([number]), torch.tensor([[client]])
        return engine.train_cohort(weights[None], *rows, keys, local_steps=1).local[0, 0]

    erased = unlearn(FedEraser(every=1), history, request, server, Keys.of(world.seeds)).segment.final[seed]
    expected = reference_unlearning.fed_eraser(history.start[seed], stored, size, remain, calibrate)
    torch.testing.assert_close(erased, expected, rtol=1e-4, atol=1e-6)


def test_rounds_without_anybody_who_remains_are_skipped() -> None:
    world = World.make()
    forget = torch.ones_like(nobody(world))
    forget[:, 6] = False  # client 6 alone remains
    request, server = server_for(world, forget)
    unlearn(EVERY_ROUND, world.lineage, request, server, Keys.of(world.seeds))
    there = (world.lineage.segments[0].trace.cohort[:, 1:] == 6).any(2).sum(1)
    assert server.spent.rounds.tolist() == there.tolist()
    assert server.spent.client_steps.tolist() == (2 * there).tolist()


def test_calibration_stops_when_the_budget_is_spent() -> None:
    """A budget of 20 steps; a round of calibration takes one step of each of up to 3 clients."""
    world = World.make()
    forget = masks(7, 3)[0]
    budget = torch.tensor([20, 5, 0])
    request, server = server_for(world, forget, Stop.at_budget(budget, torch.full((3,), 6)))
    found = unlearn(FedEraser(every=1), world.lineage, request, server, Keys.of(world.seeds))
    spent = server.spent.client_steps
    assert (spent <= budget).all()
    assert (spent > torch.tensor([0, 2, -1])).all()
    left = (budget - spent) // 6
    assert found.segment.rounds.tolist() == left.tolist()
    assert found.node.round[2] == 1  # nothing but the first round was walked
    assert found.node.round[1] < found.node.round[0]
    grown = world.lineage.grow(found.node, found.segment)
    walked = [past for past in grown.retained(1) if past.branch == 0]
    assert int(sum(past.happened[1] for past in walked)) == int(found.node.round[1])


@pytest.mark.parametrize(("least", "rounds"), [(5, 0), (7, 0), (9, 2)])
def test_calibration_counts_towards_the_minimum(least: int, rounds: int) -> None:
    """Seven rounds of calibration, and a target that any model meets: recovery only adds what is left to the minimum.

    FedAccum asks no client before recovery, so that it takes the whole minimum.
    """
    world = World.make()
    stop = Stop.at_target(Target(accuracy=1e-9, min_rounds=least, max_rounds=20), 3)
    for method, expected in ((EVERY_ROUND, rounds), (FedAccum(), least)):
        request, server = server_for(world, nobody(world), stop)
        found = unlearn(method, world.lineage, request, server, Keys.of(world.seeds)).segment
        assert found.rounds.tolist() == [expected] * 3
        assert found.status == (Status.DONE,) * 3


def test_calibration_does_not_count_towards_the_maximum() -> None:
    world = World.make()
    request, server = server_for(world, nobody(world), Stop(2.0, 0, torch.full((3,), 3)))  # no model reaches 200%
    found = unlearn(EVERY_ROUND, world.lineage, request, server, Keys.of(world.seeds)).segment
    assert found.rounds.tolist() == [3, 3, 3]
    assert server.spent.rounds.tolist() == [10, 10, 10]


def test_a_later_request_walks_training_and_recovery() -> None:
    """Two requests, dt = 2: 8 rounds of training and 4 of recovery are 4 + 2 kept ones; the very first is free."""
    world = World.make()
    first, second = world.answer(FedEraser(), masks(7, 3)[:2])
    for answer, kept in ((first, 4), (second, 6)):
        rounds = answer.work.rounds - answer.unlearned.segment.rounds
        assert (rounds <= kept - 1).all()
        assert (rounds >= kept - 3).all()  # some have nobody who remains
        recovery = (answer.unlearned.segment.trace.cohort >= 0).sum((1, 2)) * 2
        assert (answer.work.client_steps > recovery).all()


def test_what_the_server_stores() -> None:
    """10 rounds of 3 clients, 100 weights in 4 layers; dt = 2 keeps 5 rounds; the first and theta^0 in full."""
    footprint = Footprint(7, 100, 3, torch.tensor([10]), 4)
    first = 3 * 100 + 100
    assert FedEraser().server_floats(footprint).tolist() == [first + 4 * 3]
    assert FedEraser(length="layer").server_floats(footprint).tolist() == [first + 4 * 3 * 4]
    assert FedEraser(store="full").server_floats(footprint).tolist() == [first + 4 * 3 * 100]
    assert FedEraser(length="none").server_floats(footprint).tolist() == [first]
    assert FedAccum().server_floats(footprint).tolist() == [100 + 10 * 3 * 100]


def test_updates_without_snapshots_are_those_with_them() -> None:
    """Every model kept, or none but the first: the same updates."""
    world = World.make()
    segment: Segment = world.lineage.segments[0]
    bare = replace(segment, snapshots=segment.snapshots[:, :0], snapshot_every=1000)
    other = Lineage.of(world.lineage.engine, bare)
    remain = ~masks(7, 3)[1]
    for (a, _, one), (b, _, two) in zip(world.lineage.updates(0, remain), other.updates(0, remain), strict=True):
        assert set(a.cohort[0].tolist()) == set(b.cohort[0].tolist())
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6)
