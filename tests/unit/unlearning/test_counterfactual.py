"""The lineage without some clients: compared with a plain loop of it, and with the bound."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sifu.certificate.rules import PRESETS
from sifu.config.certificate import Certificate
from sifu.config.fields import build, to_plain
from sifu.config.scenario import Scenario
from sifu.contract.world import SCENARIO, World, masks
from sifu.core.keys import Keys
from sifu.plan.variants import build_method
from sifu.unlearning.answer_numbers import answer_numbers
from sifu.unlearning.counterfactual import measured_at, truth_at
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.node import Node


def grown(preset: str = "published", sigma: float = 0.02) -> tuple[World, Lineage, Tensor]:
    """Two requests answered by SIFU; the clients of the third."""
    world, requests = World.make(), masks(7, 3)
    lineage = world.lineage
    certificate = Certificate(sigma=sigma, preset=preset)
    for answer in world.answer(build_method("sifu", {}, certificate), requests[:2]):
        lineage = lineage.grow(answer.unlearned.node, answer.unlearned.segment)
    return world, lineage, requests[2]


def plain(lineage: Lineage, seed: int, clients: Tensor) -> Tensor:
    """The end of one seed's lineage without `clients` [C], round by round. [P]"""
    engine, row = lineage.engine, torch.tensor([seed])
    phi = theta = lineage.segments[0].start[row]
    for segment, kept in zip(lineage.segments, lineage.kept, strict=True):
        if int(kept[seed]) < 0:
            continue
        phi, theta = phi + (segment.start[row] - theta), segment.start[row]
        for number in range(int(kept[seed])):
            at, keys = torch.tensor([number]), Keys(segment.key_state[row])
            remain = segment.available[row] & ~clients
            theta = engine.round(theta, row, at, segment.available[row], keys).weights
            phi = engine.round(phi, row, at, remain, keys).weights
    return (theta - phi).double().norm()


def test_alpha_along_a_lineage_is_that_of_a_plain_loop() -> None:
    _, lineage, clients = grown()
    alpha = measured_at(lineage, lineage.end, clients)
    for seed in range(3):
        torch.testing.assert_close(alpha[seed], plain(lineage, seed, clients[seed]), rtol=1e-4, atol=1e-7)
    assert float(alpha.max()) > 0


def test_alpha_is_zero_where_nobody_of_them_took_part() -> None:
    """Exactly zero, also after two branches with noise: the same draws give the same bits."""
    _, lineage, clients = grown(sigma=0.0)  # without noise SIFU goes back to before the forgotten clients
    nobody = torch.zeros_like(clients)
    assert torch.equal(measured_at(lineage, lineage.end, nobody), torch.zeros(3, dtype=torch.float64))
    start = Node(torch.zeros(3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64))
    assert torch.equal(measured_at(lineage, start, clients), torch.zeros(3, dtype=torch.float64))
    assert torch.equal(measured_at(lineage, lineage.nowhere, clients), torch.zeros(3, dtype=torch.float64))


def test_a_branch_is_trained_again_with_its_own_optimiser() -> None:
    """Without anybody the run is the same as it was: rapid retraining's steps are not those of SGD."""
    world = World.make()
    (answer,) = world.answer(build_method("rapid_retraining", {"lr": 0.01}, Certificate(sigma=0.0)), masks(7, 3)[:1])
    lineage = world.lineage.grow(answer.unlearned.node, answer.unlearned.segment)
    nobody = torch.zeros(3, 7, dtype=torch.bool)
    assert torch.equal(measured_at(lineage, lineage.end, nobody), torch.zeros(3, dtype=torch.float64))


def test_the_truth_of_a_node() -> None:
    """One client is its own set; everyone forgotten so far counts at least as much as the worst of them."""
    _, lineage, clients = grown()
    truth = truth_at(lineage, lineage.end, clients, 1.0)
    torch.testing.assert_close(truth.psi, truth.single_psi)
    whole = lineage.value_at(lineage.sensitivity(clients, PRESETS["strict"], 1.0), lineage.end)
    torch.testing.assert_close(truth.psi, whole)
    gone = masks(7, 3)[0] | masks(7, 3)[1] | clients
    everyone = lineage.value_at(lineage.sensitivity(gone, PRESETS["strict"], 1.0), lineage.end)
    torch.testing.assert_close(truth.everyone_psi, everyone)


@pytest.mark.parametrize("sigma", [0.02, 1.0])
def test_in_the_convex_case_alpha_is_bounded_along_all_branches(sigma: float) -> None:
    """Full batches, no momentum, eta below 2 / beta (beta is about 430): B = 1 is a theorem, also where SIFU went back
    to a round of the training or of a branch, and trained on from there with noise. Cohorts of three; the larger the
    noise, the later the cut: with the largest, each branch goes on from the end of the one before.
    """
    federation = replace(SCENARIO.federation, batch_size=8, momentum=0.0, client_lr=0.002)
    partition = {"kind": "iid", "num_clients": 7, "examples": 8}
    scenario = build(Scenario, to_plain(SCENARIO) | {"federation": to_plain(federation), "partition": partition}, "b")
    world, gone = World.make(scenario=scenario), torch.zeros(3, 7, dtype=torch.bool)
    certificate, lineage = Certificate(sigma=sigma, preset="strict"), world.lineage
    for answer, clients in zip(world.answer(build_method("sifu", {}, certificate)), masks(7, 3), strict=True):
        lineage, gone = lineage.grow(answer.unlearned.node, answer.unlearned.segment), gone | clients
        for some in (clients, gone, ~gone):
            truth = truth_at(lineage, lineage.end, some, 1.0)
            assert (truth.alpha <= truth.psi * (1 + 1e-4) + 1e-6).all()
        assert float(truth.alpha.min()) > 0, "those that remain have left a trace"
    if sigma == 1.0:
        assert answer.unlearned.node.branch.tolist() == [2] * 3


def test_a_certificate_can_cover_everyone_who_left() -> None:
    """Then the cut hides all of them together: it is never later, and its promise names them all."""
    world, requests = World.make(), masks(7, 3)
    request, everyone = (
        world.answer(build_method("sifu", {}, Certificate(sigma=0.05, preset="strict", covers=who)), requests)
        for who in ("request", "everyone")
    )
    assert torch.equal(request[0].unlearned.node.round, everyone[0].unlearned.node.round)
    for answer, left in zip(everyone, (1, 3, 4), strict=True):
        promise, worth = answer.unlearned.promise, answer.worth
        assert promise is not None
        assert promise.covers is not None
        assert promise.psi_star is not None
        assert worth is not None
        assert promise.everyone
        assert promise.covers.tolist() == [left] * 3
        assert (worth.everyone_psi <= promise.psi_star * (1 + 1e-6)).all()


@pytest.mark.parametrize("spares", [None, 1])
def test_a_method_that_refills_seats_pays_for_spare_clients(spares: int | None) -> None:
    """Seven clients, three a round. One left: three of the six are waiting, so 3 + 3 or 3 + 1 are trained a round."""
    world = World.make()
    federation = replace(world.scenario.federation, spares=spares)
    engine = replace(world.lineage.engine, federation=federation)
    world = replace(
        world, scenario=replace(world.scenario, federation=federation), lineage=replace(world.lineage, engine=engine)
    )
    strict, plain_one = (
        world.answer(build_method("sifu", {}, Certificate(sigma=0.05, preset=preset)), masks(7, 3)[:1])[0]
        for preset in ("strict", "published")
    )
    trained = 3 + (3 if spares is None else 1)
    assert (strict.work.client_steps == strict.work.rounds * trained * 2).all()  # K = 2
    assert (plain_one.work.client_steps == plain_one.work.rounds * 3 * 2).all()
    assert (strict.spares, plain_one.spares) == (trained - 3, 0)


def test_seeds_may_have_grown_from_different_nodes() -> None:
    """Seed 0 began anew, the others went back: each is followed along its own lineage."""
    world = World.make()
    (answer, *_) = world.answer(build_method("sifu", {}, Certificate(sigma=0.02)), masks(7, 3)[:1])
    node = answer.unlearned.node.moved(-1, 0, torch.tensor([True, False, False]))
    lineage = world.lineage.grow(node, answer.unlearned.segment)
    alpha = measured_at(lineage, lineage.end, masks(7, 3)[1])
    assert bool(alpha.isfinite().all())


def test_the_spare_clients_of_the_training_are_paid_with_the_first_request() -> None:
    """Eight rounds of the training, three spare clients in each, two steps: 48 client steps, once."""
    world, method = World.make(), build_method("sifu", {}, Certificate(sigma=0.05, preset="strict"))
    answers = world.answer(method)[:2]
    paid = [answer_numbers(answer, method, world.lineage, world.scenario)["spare_steps"] for answer in answers]
    assert [part.tolist() for part in paid] == [[48] * 3, [0] * 3]
