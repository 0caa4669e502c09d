"""Rapid retraining: scratch with other local steps, and what these are on a quadratic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from sifu.config.optimiser import Adaptive
from sifu.contract.world import CONVEX, SCENARIO, World
from sifu.core.keys import Keys
from sifu.errors import MethodRefused
from sifu.federation.local.guided import GuidedTrainer
from sifu.federation.stop import Stop
from sifu.hardware.workers import Workers
from sifu.methods.rapid_retraining import RapidRetraining
from sifu.methods.scratch import Scratch
from sifu.unlearning.sequence import answer_request
from tests.quadratic_clients import CENTRES, CLIENTS, GONE, REMAIN, STEPS, HalfSquare, quadratic_lineage, scenario


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
    engine = quadratic_lineage(30).engine
    optimiser = Adaptive(lr=1.0, curvature="hutchinson", beta1=0.0, damping=1e-12)
    trainer = GuidedTrainer(engine.model, engine.clients, optimiser, HalfSquare(), Workers(1))
    batcher = engine.batcher_for(engine.clients, engine.federation, optimiser)
    cohort, zero = torch.arange(CLIENTS)[None], torch.zeros(1, dtype=torch.int64)
    batches = batcher.draw(Keys.of([0]), zero, cohort, torch.ones_like(cohort)).first(1)
    start = torch.full((1, 4), 7.0, dtype=torch.float64)
    found = trainer(start, zero, cohort, batches)[0]
    torch.testing.assert_close(found, torch.tensor(CENTRES), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"damping": 1.0}, {"curvature": "gradient", "damping": 0.5}], ids=str)
def test_a_round_is_the_plain_loop(settings: dict[str, Any]) -> None:
    """w <- w - eta mhat / (sqrt(vhat) + e) with betas of 0.9 and 0.999; of one example the Fisher diagonal is g^2."""
    method = replace(RapidRetraining(lr=0.1), **settings)
    forget = torch.zeros(1, CLIENTS, dtype=torch.bool)
    forget[:, GONE] = True
    stop = Stop(None, 0, torch.ones(1, dtype=torch.int64))
    answer, _ = answer_request(method, quadratic_lineage(30), forget, scenario(), lambda request: stop, Keys.of([0]))
    models = []
    for client in REMAIN:
        x, m, v = np.zeros(4), np.zeros(4), np.zeros(4)
        for step in range(1, STEPS + 1):
            g = x - CENTRES[client]
            d = g if settings.get("curvature") == "gradient" else g * g
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * d * d
            x = x - method.lr * m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + method.damping)
        models.append(x)
    found = answer.unlearned.weights[0].numpy()
    np.testing.assert_allclose(found, np.mean(models, axis=0), rtol=1e-6, atol=1e-9)
