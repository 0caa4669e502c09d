"""Projected gradient ascent: along a ray to the sphere, stopped early, paid for."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from sifu.contract.world import SCENARIO, World, masks
from sifu.core.keys import Keys
from sifu.federation.stop import Stop
from sifu.methods.gradient_ascent import GradientAscent
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server
from tests.contract.answer import unlearn
from tests.quadratic_clients import CENTRES, GONE, forgotten_by, local, quadratic_lineage, trained
from tests.unit.methods.test_quadratic_clients import REFERENCE, without_last

FREE = GradientAscent(momentum=0.0, clip=None, stop="never", lr=0.1, radius=100.0)  # plain ascent in a large ball


def test_the_radius_is_a_share_of_the_distance_to_initial_models() -> None:
    """Every initial model of quadratic clients is zero, so that the distance is ||ref||; plain, not squared."""
    reference = torch.tensor(without_last(30))
    model, _ = forgotten_by(replace(FREE, lr=10.0, radius=0.25), quadratic_lineage(30))
    assert float((model - reference).norm()) == pytest.approx(0.25 * float(reference.norm()), rel=1e-9)


@pytest.mark.parametrize("steps", [1, 3, 5])
def test_ascent_leaves_along_a_ray(steps: int) -> None:
    """grad = w - c, so that w_k = c + (1 + eta)^k (ref - c) as long as that is inside the ball."""
    reference, centre = torch.tensor(without_last(30)), torch.tensor(CENTRES[GONE])
    model, server = forgotten_by(replace(FREE, epochs=float(steps)), quadratic_lineage(30))
    torch.testing.assert_close(model, centre + 1.1**steps * (reference - centre), rtol=1e-9, atol=1e-12)
    assert server.spent.client_steps.tolist() == [steps]  # one example: a step an epoch


def test_momentum_keeps_the_direction_of_the_last_step() -> None:
    """d = w - c: u_1 = d_0, d_1 = (1 + eta) d_0, u_2 = m u_1 + d_1, so that d_2 = (1 + (2 + m) eta + eta^2) d_0."""
    reference, centre = torch.tensor(without_last(30)), torch.tensor(CENTRES[GONE])
    model, _ = forgotten_by(replace(FREE, momentum=0.9, epochs=2.0), quadratic_lineage(30))
    factor = 1 + 2.9 * 0.1 + 0.1**2
    torch.testing.assert_close(model, centre + factor * (reference - centre), rtol=1e-9, atol=1e-12)


def test_a_clipped_step_is_eta_times_the_longest_gradient() -> None:
    """grad = w - c is longer than the clip from the start: k steps go k eta clip along the ray."""
    reference, centre = torch.tensor(without_last(30)), torch.tensor(CENTRES[GONE])
    ray = reference - centre
    clip = float(ray.norm()) / 2
    model, _ = forgotten_by(replace(FREE, clip=clip, epochs=3.0), quadratic_lineage(30))
    torch.testing.assert_close(model, reference + 3 * 0.1 * clip * ray / ray.norm(), rtol=1e-6, atol=1e-9)


def test_by_default_the_squared_radius_is_a_third() -> None:
    """The authors' code: a third of the squared distance to initial models, here ||ref||^2."""
    reference = torch.tensor(without_last(30))
    model, _ = forgotten_by(GradientAscent(lr=10.0, stop="never"), quadratic_lineage(30))
    assert float((model - reference).square().sum()) == pytest.approx(float(reference.square().sum()) / 3, rel=2e-3)


def test_it_ends_on_the_sphere() -> None:
    """ref + radius (ref - c) / ||ref - c||: the projection keeps it on the ray."""
    reference, centre = torch.tensor(without_last(30)), torch.tensor(CENTRES[GONE])
    model, _ = forgotten_by(replace(FREE, epochs=60.0, radius=0.5), quadratic_lineage(30))
    away = (reference - centre) / (reference - centre).norm()
    torch.testing.assert_close(model, reference + 0.5 * reference.norm() * away, rtol=1e-7, atol=1e-9)


def test_the_reference_is_the_mean_of_the_other_clients_models() -> None:
    """(theta^N - p theta_W) / (1 - p) with p = 1/6."""
    model, _ = forgotten_by(REFERENCE, quadratic_lineage(30))
    sent = local(trained(29), GONE)
    expected = (trained(30) - sent / 6) / (1 - 1 / 6)
    torch.testing.assert_close(model, torch.tensor(expected), rtol=1e-12, atol=1e-12)


def test_a_distance_stops_it() -> None:
    """It goes on until it is more than the limit from the model that client 3 sent: the first step beyond it."""
    sent, reference, centre = (
        torch.tensor(part) for part in (local(trained(29), GONE), without_last(30), CENTRES[GONE])
    )
    path = [centre + 1.1**k * (reference - centre) for k in range(60)]
    limit = float((path[4] - sent).norm()) * 1.0001
    method = replace(FREE, epochs=60.0, stop="distance", stop_distance=limit)
    model, server = forgotten_by(method, quadratic_lineage(30))
    torch.testing.assert_close(model, path[5], rtol=1e-9, atol=1e-12)
    assert server.spent.client_steps.tolist() == [5]


def test_an_accuracy_stops_it() -> None:
    """Ascent makes its own data wrong; the clients stop once fewer than half of their answers are right."""
    world = World.make()
    engine, forget = world.lineage.engine, masks(7, 3)[1]
    method = GradientAscent(lr=0.05, epochs=40.0, radius=10.0, stop_accuracy=0.5)
    (answer,) = world.answer(method, [forget], rounds=0)
    correct = engine.evaluator.correct(answer.unlearned.weights, torch.arange(3))
    before = engine.evaluator.correct(world.lineage.current, torch.arange(3))
    assert (correct[forget].sum() < before[forget].sum()).all()
    assert (answer.work.client_steps < 2 * 80).all()  # two clients, 40 epochs of two batches at most
    assert (answer.work.client_steps > 2).all()


def test_a_budget_that_does_not_reach_leaves_the_reference() -> None:
    """Two clients, five epochs of two steps need 20 client steps."""
    world = World.make()
    forget = masks(7, 3)[1]
    request = Request(1, forget, ~forget)
    stop = Stop.at_budget(torch.tensor([19, 20, 0]), torch.full((3,), 6))
    server = Server(world.lineage.engine, request, stop, SCENARIO, forgotten_data=True)
    unlearn(GradientAscent(stop="never"), world.lineage, request, server, Keys.of(world.seeds))
    assert server.spent.client_steps.tolist() == [18, 20, 0]  # seed 0 recovers for three rounds of six steps instead
