"""FedRecovery: a correction no longer than one round's, none for a client that is like the others, and its noise."""

from __future__ import annotations

import numpy as np
import torch

from sifu.contract.world import World, masks
from sifu.methods.fed_recovery import FedRecovery
from sifu.unlearning.contribution import contributions
from sifu.unlearning.request import Request
from tests.bed import CENTRES, GONE, REMAIN, forgotten_by, trained_bed


def test_a_client_like_the_mean_of_the_others_changes_nothing() -> None:
    centres = CENTRES.copy()
    centres[GONE] = np.mean(centres[REMAIN], axis=0)
    history = trained_bed(12, centres)
    model, server = forgotten_by(FedRecovery(), history)
    torch.testing.assert_close(model, history.current[0], rtol=0, atol=1e-12)
    assert server.spent.client_steps.tolist() == [0]


def test_the_correction_is_a_mean_of_residuals() -> None:
    """The weights add up to 1: with all of them in one array, as a server that stored everything would do."""
    world = World.make()
    forget = masks(7, 3)[1]
    (answer,) = world.answer(FedRecovery(), [forget], rounds=0)
    rounds = list(contributions(world.lineage, Request.of(1, forget, torch.ones_like(forget))))
    residual = torch.stack([one.residual.double() for one in rounds])  # [T, S, P]
    weight = torch.stack([one.together.double().square().sum(1) for one in rounds])  # [T, S]
    weight = weight / weight.sum(0)
    correction = world.lineage.current - answer.unlearned.weights
    torch.testing.assert_close(correction, (weight[..., None] * residual).sum(0).float(), rtol=1e-3, atol=1e-5)
    assert (correction.norm(dim=1) <= residual.norm(dim=2).amax(0) * (1 + 1e-4)).all()


def test_noise_has_the_sigma_that_is_asked_for() -> None:
    world = World.make()
    plain, noisy = (
        world.answer(FedRecovery(sigma=sigma), masks(7, 3)[:1], rounds=0)[0].unlearned.weights for sigma in (0.0, 0.5)
    )
    assert torch.allclose((noisy - plain).std(dim=1), torch.tensor(0.5), rtol=0.05)
