"""Forget-SVGD: SVGD's step pair by pair, its stationary particles, and the exact posterior without a client."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from sifu.config.optimiser import Sgd, Svgd
from sifu.contract.world import PARTICLES, SCENARIO, masks, trained
from sifu.errors import MethodRefused
from sifu.federation.local.step import begin, take_step
from sifu.methods.forget_svgd import ForgetSvgd
from tests.quadratic_clients import CENTRES, ETA, Offset, distance, forgotten_by, lineage_of
from tests.reference import stein_directions

ALPHA = 0.3


def step(optimiser: Svgd, particles: Tensor, gradients: Tensor) -> Tensor:
    """One step from rest. [N, P] each"""
    row = particles.flatten()[None]
    moved, _ = take_step(optimiser, 1, row, begin(row), gradients.flatten()[None], None)
    return moved.view_as(particles)


@pytest.mark.parametrize("bandwidth", [None, 2.0])
def test_a_step_is_that_of_the_plain_loop(bandwidth: float | None) -> None:
    particles, gradients = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    optimiser = Svgd(lr=0.1, particles=4, temperature=ALPHA, bandwidth=bandwidth)
    expected = torch.stack(stein_directions(list(particles), list(gradients), optimiser))
    torch.testing.assert_close(step(optimiser, particles, gradients), particles - 0.1 * expected)


def test_one_particle_takes_the_step_of_sgd() -> None:
    weights, gradient = torch.randn(2, 1, 6, generator=torch.Generator().manual_seed(0))
    both = Svgd(lr=0.1, particles=1, temperature=ALPHA), Sgd(lr=0.1)
    one, other = (take_step(optimiser, 1, weights, begin(weights), gradient, None)[0] for optimiser in both)
    torch.testing.assert_close(one, other)


def test_the_mean_of_the_clients_steps_is_the_step_for_the_mean_loss() -> None:
    """A step is linear in the gradients: with K = 1, FedAvg is SVGD on the mean loss."""
    particles, one, other = torch.randn(3, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    optimiser = Svgd(lr=0.1, particles=4, temperature=ALPHA)
    mean = (step(optimiser, particles, one) + step(optimiser, particles, other)) / 2
    torch.testing.assert_close(step(optimiser, particles, (one + other) / 2), mean)


def test_two_particles_end_where_they_should() -> None:
    """F = (x - c)^2 / 2, particles c - u and c + u, k = exp(-4 u^2 / h). v = 0 where u (1 - k) = alpha (4 u / h) k: at
    u^2 = (h / 4) ln(1 + 4 alpha / h). For a wide kernel that tends to alpha, the variance of exp(-F / alpha).
    """
    centre, width = 1.5, 2.0
    optimiser = Svgd(lr=0.2, particles=2, temperature=ALPHA, bandwidth=width)
    row = torch.tensor([[1.0, 2.2]], dtype=torch.float64)
    state = begin(row)
    for number in range(1, 301):
        row, state = take_step(optimiser, number, row, state, row - centre, None)
    u = (width / 4 * math.log(1 + 4 * ALPHA / width)) ** 0.5
    torch.testing.assert_close(row, torch.tensor([[centre - u, centre + u]], dtype=torch.float64))


class Particle(Offset):
    """The model of quadratic clients as a single particle, with a kernel as wide as the posterior: h / 2 = alpha."""

    def own_optimiser(self, sgd: Sgd) -> Svgd:
        return Svgd(lr=sgd.lr, particles=1, temperature=ALPHA, bandwidth=2 * ALPHA)


def test_forgetting_leaves_the_exact_posterior_of_the_others() -> None:
    """Gaussians: N(cbar, alpha) times exp(+p |x - c_u|^2 / 2 alpha), p = 1/6, has the mean (cbar - p c_u) / (1 - p): of
    the remaining centres, where retraining ends. A step shrinks the distance by 1 - eta (1 - p) = 0.9167.
    """
    lineage = lineage_of(60, CENTRES, Particle())
    assert distance(lineage.current[0], 60) == pytest.approx(0.458357, abs=1e-6)  # the original model
    found, server = forgotten_by(ForgetSvgd(steps=300), lineage)
    assert distance(found, 60) < 1e-9
    assert server.spent.client_steps.tolist() == [300]
    short, _ = forgotten_by(ForgetSvgd(steps=10), lineage)
    assert distance(short, 60) == pytest.approx(0.458357 * (1 - ETA * 5 / 6) ** 10, abs=1e-6)


def test_only_the_clients_to_forget_are_asked_and_their_loss_rises() -> None:
    world, forget = trained(PARTICLES), masks(7, 2)[:1]
    (answer,) = world.answer(ForgetSvgd(steps=5), forget, rounds=0)
    assert answer.work.client_steps.tolist() == [5, 5]
    engine = world.lineage.engine
    images, labels = engine.clients.images[:, 1, :5], engine.clients.labels[:, 1, :5]
    for s in range(2):
        before, after = (
            torch.nn.functional.cross_entropy(engine.model.logits(row[s], images[s]), labels[s])
            for row in (world.lineage.current, answer.unlearned.weights)
        )
        assert after > before


def test_other_models_are_refused() -> None:
    with pytest.raises(MethodRefused, match="set model: particles"):
        trained(SCENARIO).answer(ForgetSvgd(), rounds=1)
