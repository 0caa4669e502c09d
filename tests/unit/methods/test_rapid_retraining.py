"""Rapid retraining: scratch with other local steps, and what these are on a quadratic."""

from __future__ import annotations

import pytest
import torch

from sifu.config.optimiser import Adaptive
from sifu.contract.world import CONVEX, SCENARIO, World
from sifu.core.keys import Keys
from sifu.errors import MethodRefused
from sifu.federation.local.guided import GuidedTrainer
from sifu.hardware.workers import Workers
from sifu.methods.rapid_retraining import RapidRetraining
from sifu.methods.scratch import Scratch
from tests.bed import CENTRES, CLIENTS, HalfSquare, bed


def test_plain_sgd_at_the_federations_step_size_is_scratch() -> None:
    world = World.make()
    method = RapidRetraining(curvature="none", lr=SCENARIO.federation.client_lr)
    for one, other in zip(world.answer(method), world.answer(Scratch()), strict=True):
        torch.testing.assert_close(one.unlearned.weights, other.unlearned.weights, rtol=1e-4, atol=1e-5)
        assert torch.equal(one.work.client_steps, other.work.client_steps)
        assert torch.equal(one.unlearned.node.branch, other.unlearned.node.branch)


def test_weight_decay_is_the_federations_or_refused() -> None:
    """Without it another loss would be minimised. Steps that are divided by curvature have none."""
    world = World.make(scenario=CONVEX)
    sgd = RapidRetraining(curvature="none", lr=CONVEX.federation.client_lr)
    for one, other in zip(world.answer(sgd), world.answer(Scratch()), strict=True):
        torch.testing.assert_close(one.unlearned.weights, other.unlearned.weights, rtol=1e-4, atol=1e-5)
    with pytest.raises(MethodRefused, match="no weight decay"):
        world.answer(RapidRetraining(), rounds=1)


@pytest.mark.second
@pytest.mark.parametrize("curvature", ["gradient", "fisher", "hutchinson"])
def test_other_optimisers_give_other_models_of_the_same_kind(curvature: str) -> None:
    world = World.make()
    answers = world.answer(RapidRetraining(curvature=curvature, lr=0.01))
    scratch = world.answer(Scratch())
    for one, other in zip(answers, scratch, strict=True):
        assert one.unlearned.weights.isfinite().all()
        assert not torch.equal(one.unlearned.weights, other.unlearned.weights)
        assert one.unlearned.promise is not None
        assert one.unlearned.promise.epsilon == 0.0


def test_one_step_with_hutchinsons_diagonal_lands_on_the_optimum() -> None:
    """The Hessian of ||x - c||^2 / 2 is the identity, one probe is exact, and beta1 = 0, eta = 1 is Newton's step."""
    engine = bed(30).engine
    optimiser = Adaptive(lr=1.0, curvature="hutchinson", beta1=0.0, damping=1e-12)
    trainer = GuidedTrainer(engine.model, engine.clients, optimiser, HalfSquare(), Workers(1))
    batcher = engine.batcher_for(engine.clients, engine.federation, optimiser)
    cohort, zero = torch.arange(CLIENTS)[None], torch.zeros(1, dtype=torch.int64)
    batches = batcher.draw(Keys.of([0]), zero, cohort, torch.ones_like(cohort)).first(1)
    start = torch.full((1, 4), 7.0, dtype=torch.float64)
    found = trainer(start, zero, cohort, batches)[0]
    torch.testing.assert_close(found, torch.tensor(CENTRES), rtol=1e-9, atol=1e-9)
