"""What a method can ask of clients outside of recovery, and of the server's own data: counted, bounded, declared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from sifu.config.optimiser import Adaptive, Sgd
from sifu.config.scenario import Scenario
from sifu.contract.world import SCENARIO, World, masks
from sifu.core.keys import Keys
from sifu.errors import MethodError, MethodRefused
from sifu.federation.local.guided import Step
from sifu.federation.local.loss import CrossEntropy, Negative
from sifu.federation.stop import Stop
from sifu.unlearning.asked import Training, in_ball, projected
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server

P = 7850
KEYS = Keys.of(range(3)).fold("test")


def server_for(world: World, stop: Stop | None = None, scenario: Scenario = SCENARIO, **declared: bool) -> Server:
    """A server at the second request's clients, 0 and 3, which have 8 examples each; batches of 4."""
    forget = masks(7, 3)[1]
    request = Request(1, forget, world.lineage.segments[0].available & ~forget)
    stop = stop or Stop(None, 0, torch.zeros(3, dtype=torch.int64))
    shape = world.lineage.current.shape
    return Server(world.lineage.engine, request, stop, scenario, method="method tried", shape=shape, **declared)


def asker(stop: Stop | None = None) -> tuple[Server, Tensor]:
    world = World.make()
    return server_for(world, stop, forgotten_data=True), world.lineage.current


def test_what_is_not_declared_is_refused() -> None:
    world = World.make()
    server, model = server_for(world), world.lineage.current
    with pytest.raises(MethodError, match=r"method tried asks the clients to forget: set assumptions\.forgotten_data"):
        server.ask_forgotten(model, KEYS)
    with pytest.raises(MethodError, match=r"method tried reads data at the server: set assumptions\.server_data"):
        server.data  # noqa: B018
    with pytest.raises(MethodError, match=r"reads data at the server"):
        server.train_here(model, KEYS)
    assert server.spent.comm_floats.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("training", "words"),
    [
        ({"steps": 2, "epochs": 1.0}, "`steps` or `epochs`, not both"),
        ({"steps": 0}, "more than 0 steps"),
        ({"batch_size": 0}, "at least one example"),
    ],
)
def test_a_training_that_makes_no_sense_is_refused(training: dict[str, Any], words: str) -> None:
    server, model = asker()
    with pytest.raises(MethodError, match=words):
        server.ask_forgotten(model, KEYS, **training)


def test_only_a_model_for_each_seed_can_be_trained_from() -> None:
    server, model = asker()
    with pytest.raises(MethodError, match=r"method tried gave `server\.ask_forgotten` \[2, 7850\], not a model"):
        server.ask_forgotten(model[1:], KEYS)


def test_asking_counts_a_round_steps_and_communication() -> None:
    """Two clients, five steps each; a model of 7850 weights goes down and up for each."""
    server, model = asker()
    found = server.ask_forgotten(model, KEYS, loss=Negative(CrossEntropy()), optimiser=Adaptive(), steps=5)
    assert found.cohort.tolist() == [[0, 3]] * 3
    assert found.examples.tolist() == [[8, 8]] * 3
    spent = server.spent
    assert spent.rounds.tolist() == [1, 1, 1]
    assert spent.client_steps.tolist() == [10, 10, 10]
    assert spent.comm_floats.tolist() == [2 * 2 * P] * 3
    torch.testing.assert_close(found.mean, found.local.mean(1), rtol=1e-5, atol=1e-6)  # both have 8 examples


def test_a_hessian_product_is_a_second_gradient() -> None:
    """Two clients, five steps: 10 gradients; with z * (H z) twice as many. The Fisher matrix has none of its own."""
    for curvature, gradients in (("gradient", 10), ("fisher", 10), ("hutchinson", 20)):
        server, model = asker()
        server.ask_forgotten(model, KEYS, optimiser=Adaptive(curvature=curvature), steps=5)
        assert server.spent.client_steps.tolist() == [gradients] * 3
    # recovery: a round of three clients with K = 2 steps takes 12, of which 31 hold two
    server, model = asker(Stop.at_budget(torch.tensor([31, 12, 11]), torch.full((3,), 6)))
    segment = server.recover(model, KEYS, optimiser=Adaptive(curvature="hutchinson"))
    assert segment.rounds.tolist() == [2, 1, 0]
    assert server.spent.client_steps.tolist() == [24, 12, 0]


def test_no_more_rounds_can_be_asked_for_than_the_scenario_has() -> None:
    """max_rounds = 2: the third call finds nobody; one of the same round is no round more."""
    world = World.make()
    scenario = replace(SCENARIO, stop=replace(SCENARIO.stop, min_rounds=0, max_rounds=2))
    server, model = server_for(world, scenario=scenario, forgotten_data=True), world.lineage.current
    server.ask_remaining(model, KEYS)
    server.ask_forgotten(model, KEYS)
    server.ask_remaining(model, KEYS, same_round=True)
    assert server.spent.rounds.tolist() == [2, 2, 2]
    found = server.ask_forgotten(model, KEYS)
    assert not (found.cohort >= 0).any()
    assert torch.equal(found.mean, model)
    assert server.spent.rounds.tolist() == [2, 2, 2]


def test_epochs_are_counted_by_each_clients_own_examples() -> None:
    """Half an epoch of 8 examples in batches of 3: ceil(4 / 3) = 2 steps."""
    server, model = asker()
    found = server.ask_forgotten(model, KEYS, epochs=0.5, batch_size=3)
    assert found.steps.tolist() == [[2, 2]] * 3
    assert server.ask_forgotten(model, KEYS, epochs=2.0, batch_size=100).steps.tolist() == [[2, 2]] * 3


def test_whole_numbers_of_steps_are_not_rounded_up() -> None:
    """0.3 epochs of 100 examples in batches of 10 are 3 steps, of 7 examples in one batch 1."""
    engine = World.make().lineage.engine
    assert Training(epochs=0.3, batch_size=10).limits(torch.tensor([[100, 7, 0]]), engine).tolist() == [[3, 1, 0]]


def test_a_training_that_ends_early_costs_what_it_took() -> None:
    server, model = asker()

    def after(step: Step) -> tuple[Tensor, Tensor]:
        return step.weights, (step.place == 0) & (step.number == 2)

    found = server.ask_forgotten(model, KEYS, steps=6, after=after)
    assert found.steps.tolist() == [[2, 6]] * 3
    assert server.spent.client_steps.tolist() == [8, 8, 8]


def test_everyone_who_remains_can_be_asked_and_is_paid_for() -> None:
    """Five clients remain of seven; K = 2 steps each, where a cohort has three."""
    server, model = asker()
    found = server.ask_remaining(model, KEYS, everyone=True)
    assert found.cohort.tolist() == [[1, 2, 4, 5, 6]] * 3
    assert server.spent.client_steps.tolist() == [10, 10, 10]


def test_seeds_can_be_left_alone() -> None:
    server, model = asker()
    which = torch.tensor([True, False, True])
    for ask in (server.ask_forgotten, server.ask_remaining):
        found = ask(model, KEYS, seeds=which)
        assert (found.cohort >= 0).any(1).tolist() == [True, False, True]
        assert torch.equal(found.mean[1], model[1])
    assert server.spent.rounds.tolist() == [2, 0, 2]
    assert server.spent.client_steps.tolist() == [10, 0, 10]  # two clients, then three, two steps each


def test_a_seed_without_budget_is_left_out() -> None:
    """Two clients with four steps each need 8: seed 1 has 7 left."""
    server, model = asker(Stop.at_budget(torch.tensor([8, 7, 100]), torch.full((3,), 6)))
    found = server.ask_forgotten(model, KEYS, steps=4)
    assert found.cohort.tolist() == [[0, 3], [-1, -1], [0, 3]]
    assert server.spent.client_steps.tolist() == [8, 0, 8]
    assert torch.equal(found.mean[1], model[1])
    assert server.recover(model, KEYS).rounds.tolist() == [0, 1, 15]  # (100 - 8) // 6


@pytest.mark.parametrize("optimiser", [None, Sgd(lr=0.02, momentum=0.9)], ids=["own trainer", "guided"])
def test_by_default_clients_train_as_in_a_round(optimiser: Sgd | None) -> None:
    """The fast path and the general one: K = 2 steps of FedAvg's SGD with the same batches."""
    server, model = asker()
    ordinary = server.ask_forgotten(model, KEYS)
    other, _ = asker()
    general = other.ask_forgotten(model, KEYS, optimiser=optimiser, loss=CrossEntropy())
    torch.testing.assert_close(ordinary.local, general.local, rtol=1e-4, atol=1e-6)
    assert ordinary.steps.tolist() == [[2, 2]] * 3


def test_same_keys_same_bits_and_every_call_has_its_own_batches() -> None:
    (first, model), (second, _) = asker(), asker()
    one, again = (server.ask_forgotten(model, KEYS, steps=3, optimiser=Adaptive()) for server in (first, second))
    assert torch.equal(one.local, again.local)
    later = first.ask_forgotten(model, KEYS, steps=3, optimiser=Adaptive())
    assert not torch.equal(one.local, later.local)


def test_remaining_clients_are_a_cohort_as_of_a_round() -> None:
    server, model = asker()
    found = server.ask_remaining(model, KEYS)
    assert found.cohort.shape == (3, 3)
    assert not set(found.cohort.flatten().tolist()) & {0, 3, -1}
    assert server.spent.client_steps.tolist() == [6, 6, 6]


def test_one_round_has_one_model_and_is_counted_once() -> None:
    """Two clients to forget need 8 steps, three remaining ones 12; seed 2 affords neither."""
    server, model = asker(Stop.at_budget(torch.tensor([20, 100, 7]), torch.full((3,), 6)))
    with pytest.raises(MethodError, match="method tried: a round has one model"):
        server.ask_remaining(model, KEYS, same_round=True)
    server.ask_forgotten(model, KEYS, steps=4)
    server.ask_remaining(model, KEYS, same_round=True, steps=4)
    assert server.spent.rounds.tolist() == [1, 1, 0]
    assert server.spent.client_steps.tolist() == [20, 20, 0]
    with pytest.raises(MethodError, match="a round has one model"):
        server.ask_remaining(model + 1, KEYS, same_round=True)


def test_a_round_that_only_its_second_group_affords_is_counted() -> None:
    """Two clients with five steps each need 10 of the 8 that there are, three with two steps 6."""
    server, model = asker(Stop.at_budget(torch.full((3,), 8), torch.full((3,), 6)))
    server.ask_forgotten(model, KEYS, steps=5)
    assert server.spent.rounds.tolist() == [0, 0, 0]
    server.ask_remaining(model, KEYS, same_round=True)
    assert server.spent.rounds.tolist() == [1, 1, 1]
    assert server.spent.client_steps.tolist() == [6, 6, 6]


@pytest.mark.parametrize("steps", [-1, 0, 3])
def test_a_past_round_has_no_other_steps_than_its_own(steps: int) -> None:
    """K = 2: -1 would train one step and be paid back for it, 3 would be paid and not trained."""
    world = World.make()
    past = next(world.lineage.retained(1))
    server = server_for(world)
    with pytest.raises(MethodError, match=f"asks for {steps} steps of a past round; allowed: 1 to 2"):
        server.ask_again(world.lineage.current, past, steps)
    assert server.spent.client_steps.tolist() == [0, 0, 0]


def test_the_server_trains_on_its_own_examples_for_free() -> None:
    world = World.make()
    server, model = server_for(world, server_data=True), world.lineage.current
    data = server.data
    assert len(data.images) == len(data.labels) == 3
    data.images.fill_(torch.nan)  # a copy
    trained = server.train_here(model, KEYS, steps=20, optimiser=Sgd(lr=0.02))

    def loss(weights: Tensor) -> Tensor:
        logits = world.lineage.engine.model.logits(weights[0], server.data.images[0])
        return CrossEntropy()(logits, server.data.labels[0], None).mean()

    assert loss(trained) < loss(model)
    assert server.spent.client_steps.tolist() == [0, 0, 0]
    assert server.spent.server_steps is not None
    assert server.spent.server_steps.tolist() == [20, 20, 20]  # counted apart


def test_a_scenario_without_server_data_refuses_the_method() -> None:
    from dataclasses import replace

    world = World.make()
    bare = replace(world, lineage=replace(world.lineage, engine=replace(world.lineage.engine, server_data=None)))
    with pytest.raises(MethodRefused, match=r"needs data at the server: set partition\.server_share"):
        server_for(bare, server_data=True).data  # noqa: B018


def test_a_ball_asks_for_the_accuracy_of_what_stays_in_it() -> None:
    """Steps of length 1000 forget everything, but the ball of 1e-6 holds the model, and with it what it knows."""
    server, model = asker()
    seen: list[tuple[int, int, float]] = []

    def stop(step: Step) -> Tensor:
        seen.extend(zip(step.row.tolist(), step.place.tolist(), step.accuracy().tolist(), strict=True))
        return torch.zeros_like(step.row, dtype=torch.bool)

    ball, loss = in_ball(model, torch.full((3,), 1e-6), stop), Negative(CrossEntropy())
    server.ask_forgotten(model, KEYS, steps=2, loss=loss, optimiser=Sgd(lr=1000.0), after=ball)
    right = World.make().lineage.engine.evaluator.correct(model, torch.arange(3))[:, [0, 3]] / 8  # of 8 examples each
    assert right.any()
    assert len(seen) == 3 * 2 * 2
    assert all(accuracy == float(right[row, place]) for row, place, accuracy in seen)


def test_a_ball_keeps_what_is_inside_and_projects_the_rest() -> None:
    centre = torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    weights = torch.tensor([[1.5, 1.0], [3.0, 4.0]])
    radius = torch.tensor([1.0, 1.0])
    once = projected(weights, centre, radius)
    torch.testing.assert_close(once, torch.tensor([[1.5, 1.0], [0.6, 0.8]]))  # 3, 4 has length 5
    torch.testing.assert_close(projected(once, centre, radius), once)
    server, model = asker()
    found = server.ask_forgotten(model, KEYS, optimiser=Sgd(lr=1.0), after=in_ball(model, torch.full((3,), 0.01)))
    assert (found.local - model.unsqueeze(1)).norm(dim=-1).max() <= 0.01 * (1 + 1e-4)
