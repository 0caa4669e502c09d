"""Local training with other losses and optimisers: the plain loop, closed forms, and what a hook can do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sifu.config.optimiser import CURVATURES, Adaptive, Optimiser, Sgd
from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.local.guided import GuidedTrainer, Step
from sifu.federation.local.loss import CrossEntropy, Distillation, Loss, Negative
from sifu.federation.local.step import begin, take_step
from sifu.federation.stop import Stop
from sifu.hardware.workers import Workers
from sifu.models.flat import FlatModel
from tests import reference
from tests.conftest import tiny_clients, tiny_engine, tiny_federation
from tests.networks import Various

COHORT = torch.tensor([[0, 2, 3], [1, 2, -1]])
ZERO = torch.zeros(2, dtype=torch.int64)
WAYS: list[Any] = [Workers(2), None]  # one model at a time, and all at once


def trained(
    engine: Engine, optimiser: Optimiser, loss: Loss, workers: Workers | None, **more: Any
) -> tuple[Tensor, Tensor]:
    """The cohorts' first round: weights [2, 3, P] and steps [2, 3]."""
    keys = Keys.of(range(2))
    batcher = engine.batcher_for(engine.clients, engine.federation, optimiser)
    sizes = engine.clients.size.gather(1, COHORT.clamp(min=0)).where(COHORT >= 0, 0)
    batches = batcher.draw(keys, ZERO, COHORT, sizes)
    trainer = GuidedTrainer(engine.model, engine.clients, optimiser, loss, workers)
    return trainer.train(engine.model.init(keys).double(), torch.arange(2), COHORT, batches, **more)


def double_engine(name: str = "logistic", **changes: object) -> Engine:
    return tiny_engine(name, tiny_clients(name, dtype=torch.float64), **changes)


def loss_of(name: str, engine: Engine) -> tuple[Loss, Any]:
    """A loss and its plain version, (row, logits, labels, images) -> [B]."""
    if name == "ascent":
        return Negative(CrossEntropy()), lambda row, z, y, x: z.gather(1, y[:, None])[:, 0] - z.logsumexp(1)
    teacher = engine.model.init(Keys.of(range(2)).fold("teacher")).double()

    def plain(row: int, z: Tensor, y: Tensor, x: Tensor) -> Tensor:
        with torch.no_grad():
            goal = torch.softmax(engine.model.logits(teacher[row], x) / 3.0, 1)
        return (goal * (goal.log() - torch.log_softmax(z / 3.0, 1))).sum(1)

    return Distillation(teacher, temperature=3.0), plain


@pytest.mark.parametrize("workers", WAYS, ids=["pooled", "batched"])
@pytest.mark.parametrize("loss", ["ascent", "distillation"])
@pytest.mark.parametrize("curvature", CURVATURES)
def test_it_agrees_with_the_plain_loop(curvature: str, loss: str, workers: Workers | None) -> None:
    engine, optimiser = double_engine(), Adaptive(lr=0.01, curvature=curvature, damping=1e-3)
    wanted, plain = loss_of(loss, engine)
    local, steps = trained(engine, optimiser, wanted, workers)
    keys, start = Keys.of(range(2)), engine.model.init(Keys.of(range(2))).double()
    for r, j in (COHORT >= 0).nonzero().tolist():
        client = int(COHORT[r, j])
        size = int(engine.clients.size[r, client])
        module = nn.Sequential(nn.Flatten(), nn.Linear(784, 10)).double()
        nn.utils.vector_to_parameters(start[r], module.parameters())
        key = keys.rows(r)
        expected = reference.guided_client(
            module,
            engine.clients.images[r, client],
            engine.clients.labels[r, client],
            reference.client_batches(key, 0, client, size, engine.federation),
            optimiser,
            lambda z, y, x, row=r: plain(row, z, y, x),  # type: ignore[misc]
            lambda step, at=(key, client): _signs(*at, step, start.shape[1]),  # type: ignore[misc]
        )
        torch.testing.assert_close(local[r, j], expected, rtol=1e-9, atol=1e-12)
    assert steps.tolist() == [[3, 3, 3], [3, 3, 0]]
    assert torch.equal(local[1, 2], start[1])  # an empty place


def _signs(key: Keys, client: int, step: int, count: int) -> Tensor:
    draws = key.fold("probes", 0, client, step, "draw").each(torch.arange(count)).state
    return torch.where(draws >= 0, 1.0, -1.0).double()


@pytest.mark.parametrize("curvature", CURVATURES)
def test_any_module_has_one_result_on_both_paths(curvature: str) -> None:
    """Every kind of layer, and dropout, whose masks come from keys."""
    torch.manual_seed(0)
    model = FlatModel(Various().double())
    clients = tiny_clients("logistic", dtype=torch.float64)
    images = torch.randn(*clients.images.shape[:3], 3, 12, 12, dtype=torch.float64)
    engine = Engine(model, replace(clients, images=images, labels=clients.labels % 5), tiny_federation(), Workers(2))
    optimiser = Adaptive(lr=0.01, curvature=curvature, damping=1e-3)
    pooled, batched = (trained(engine, optimiser, CrossEntropy(), workers)[0] for workers in WAYS)
    torch.testing.assert_close(pooled, batched, rtol=1e-6, atol=1e-8)
    assert (pooled[0, 0] - pooled[0, 1]).norm() > 1e-3


def test_a_frozen_curvature_of_one_is_sgd() -> None:
    """v averages ones, so that sqrt(vhat) = 1; without beta1 a step is lr g / (1 + damping)."""
    optimiser = Adaptive(lr=0.1, beta1=0.0, damping=1e-12)
    weights = plain = torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64)
    state = begin(weights)
    for number in range(1, 6):
        gradient = weights * torch.tensor([1.0, 2.0, 3.0])
        weights, state = take_step(optimiser, number, weights, state, gradient, torch.ones_like(weights))
        plain = plain - 0.1 * plain * torch.tensor([1.0, 2.0, 3.0])
    torch.testing.assert_close(weights, plain, rtol=1e-9, atol=0)


@pytest.mark.parametrize(("curvature", "factor"), [("gradient", 1.0), ("fisher", 0.1), ("hutchinson", 1.0)])
def test_what_a_ten_times_larger_loss_does_to_a_first_step(curvature: str, factor: float) -> None:
    """g and H grow by 10, the Fisher matrix by 100: g / d is the same, or a tenth."""
    engine = double_engine(local_steps=1)
    optimiser = Adaptive(lr=0.01, curvature=curvature, damping=1e-12)
    start = engine.model.init(Keys.of(range(2))).double().unsqueeze(1)
    small, large = (trained(engine, optimiser, _Times(times), None)[0] - start for times in (1.0, 10.0))
    torch.testing.assert_close(large, small * factor, rtol=1e-4, atol=1e-9)


class _Times(CrossEntropy):
    def __init__(self, factor: float) -> None:
        object.__setattr__(self, "factor", factor)

    def __call__(self, logits: Tensor, labels: Tensor, taught: Tensor | None) -> Tensor:
        return self.factor * super().__call__(logits, labels, taught)  # type: ignore[attr-defined, no-any-return]


def test_probes_differ_between_clients_and_steps() -> None:
    keys = Keys.of([0]).fold("probes", 0)
    draws = [keys.fold(client, step).bits(64)[0] >= 0 for client in (0, 1) for step in (0, 1)]
    assert all(not torch.equal(a, b) for i, a in enumerate(draws) for b in draws[:i])


@pytest.mark.parametrize("workers", WAYS, ids=["pooled", "batched"])
def test_a_hook_moves_weights_and_ends_trainings(workers: Workers | None) -> None:
    """After each step the weights are set to the number of steps; the clients of seed 0 stop after two of three."""
    engine = double_engine()

    def after(step: Step) -> tuple[Tensor, Tensor]:
        return torch.full_like(step.weights, step.number), (step.row == 0) & (step.number == 2)

    local, steps = trained(engine, Sgd(lr=0.1), CrossEntropy(), workers, after=after)
    assert steps.tolist() == [[2, 2, 2], [3, 3, 0]]
    assert (local[0] == 2).all()
    assert (local[1, :2] == 3).all()


@pytest.mark.parametrize("workers", WAYS, ids=["pooled", "batched"])
def test_limits_and_accuracies_are_the_clients_own(workers: Workers | None) -> None:
    engine, seen = double_engine(), {}

    def after(step: Step) -> tuple[Tensor, Tensor]:
        for q, accuracy in enumerate(step.accuracy().tolist()):
            seen[int(step.row[q]), int(step.place[q]), step.number] = (accuracy, step.weights[q])
        return step.weights, torch.zeros_like(step.row, dtype=torch.bool)

    limit = torch.tensor([[1, 2, 3], [3, 1, 0]])
    local, steps = trained(engine, Sgd(lr=0.1), CrossEntropy(), workers, limit=limit, after=after)
    assert torch.equal(steps, limit)
    for r, j in (limit > 0).nonzero().tolist():
        accuracy, weights = seen[r, j, int(limit[r, j])]
        client = int(COHORT[r, j])
        size = int(engine.clients.size[r, client])
        answers = engine.model.logits(weights, engine.clients.images[r, client, :size]).argmax(1)
        assert accuracy == pytest.approx((answers == engine.clients.labels[r, client, :size]).double().mean().item())
        assert torch.equal(local[r, j], weights)


def test_a_recovery_by_another_optimiser_is_replayed_as_it_was() -> None:
    engine = tiny_engine()
    keys, everyone = Keys.of(range(2)), torch.ones(2, 4, dtype=torch.bool)
    start, stop = engine.model.init(keys), Stop(None, 0, torch.tensor([5, 3]))
    optimiser = Adaptive(lr=0.01)
    segment = engine.run(start, everyone, keys, stop, snapshot_every=2, optimiser=optimiser)
    assert segment.optimiser == optimiser
    assert torch.equal(engine.replay(segment, segment.rounds), segment.final)
    plain = engine.run(start, everyone, keys, stop, snapshot_every=2)
    assert plain.optimiser is None
    assert not torch.equal(plain.final, segment.final)
