"""BFU: its divergence, its closed form on quadratics, and how little an average with everybody forgets."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torch.nn.functional import cross_entropy

from sifu.config.optimiser import Sgd
from sifu.contract.world import SCENARIO, VARIATIONAL, World, masks, trained
from sifu.core.keys import Keys
from sifu.errors import MethodRefused
from sifu.federation.local.variational_loss import Retraction
from sifu.federation.stop import Stop
from sifu.methods.bfu import Bfu
from sifu.models.variational import Seen
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server
from tests.quadratic_clients import CENTRES, CLIENTS, FEATURES, GONE, HalfSquare, lineage_of, scenario


def test_the_divergence_is_that_of_normal_distributions() -> None:
    mean, log_variance, other_mean, other_log = torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(0))
    seen = Seen(torch.zeros(5, 2), mean, log_variance)
    expected = kl_divergence(Normal(mean, (log_variance / 2).exp()), Normal(other_mean, (other_log / 2).exp()))
    torch.testing.assert_close(seen.divergence(other_mean, other_log), expected.mean(1))
    assert not seen.divergence(mean, log_variance).any()


class Gaussian(nn.Module):
    """q(z | x) = N(theta, 1) for every image; the logits are theta - image, as of quadratic clients."""

    def __init__(self) -> None:
        super().__init__()
        self.x = nn.Parameter(torch.zeros(FEATURES, dtype=torch.float64))

    def forward(self, images: Tensor, *, seen: bool = False) -> Tensor:
        logits = self.x - images.flatten(1)
        return torch.cat([logits, self.x.expand_as(logits), logits * 0], dim=1) if seen else logits


@pytest.mark.parametrize("factor", [0.0, 0.1])
def test_its_minimiser_on_quadratics(factor: float) -> None:
    """KL is the mean of (m - m0)^2 / 2 over 4 units, the loss the sum of (m - c)^2 / 2: with l = 4 lambda the minimiser
    is m = (m0 - l c) / (1 - l), for l < 1. lambda = 0: m0 itself, to the last bit.
    """
    lineage = lineage_of(30, CENTRES, Gaussian())
    forget = torch.zeros(1, CLIENTS, dtype=torch.bool)
    forget[:, GONE] = True
    stop = Stop(None, 0, torch.zeros(1, dtype=torch.int64))
    request = Request(1, forget, ~forget)
    server = Server(lineage.engine, request, stop, scenario(), forgotten_data=True)
    start = lineage.current
    loss = Retraction(start, factor, HalfSquare(), FEATURES)
    # a step shrinks the distance by 1 - 2 (1 - l) / 4 = 0.7: after 100 steps by 3e-16
    found = server.ask_forgotten(start, Keys.of([0]), loss=loss, optimiser=Sgd(lr=2.0), steps=100).mean[0]
    pushed = 4 * factor
    expected = (start[0] - pushed * torch.tensor(CENTRES[GONE])) / (1 - pushed)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    assert torch.equal(found, start[0]) == (factor == 0)


def test_without_the_loss_nothing_moves() -> None:
    """lambda = 0 starts at the minimum, whatever the draws; the theorem of a fixed point, on the real model."""
    world = trained(VARIATIONAL)
    (answer,) = world.answer(Bfu(factor=0.0, epochs=1.0, stop_accuracy=0.0), masks(7, 2)[:1], rounds=0)
    assert torch.equal(answer.unlearned.weights, world.lineage.current)
    assert answer.work.client_steps.tolist() == [2, 2]  # an epoch of 5 examples in batches of 4


def test_an_average_with_everybody_goes_a_part_of_the_way() -> None:
    """Client 1 has 5 of 46 examples: theta' - theta^N is 5/46 of what it is without the others."""
    world, forget = trained(VARIATIONAL), masks(7, 2)[:1]
    method = Bfu(epochs=3.0, stop_accuracy=0.0)
    moved = [
        world.answer(replace(method, average=average), forget, rounds=0)[0].unlearned.weights - world.lineage.current
        for average in ("everyone", "forgotten")
    ]
    torch.testing.assert_close(moved[0], moved[1] * 5 / 46, rtol=1e-3, atol=1e-6)


def loss_of(world: World, weights: Tensor, forget: Tensor) -> Tensor:
    """The cross-entropy of the clients `forget` [S, C] on their own data, the mean over their examples. [S]"""
    engine, found = world.lineage.engine, []
    data = engine.clients
    for s, (client,) in enumerate(torch.nonzero(row).flatten().tolist() for row in forget):
        images, labels = (part[s, client, : int(data.size[s, client])] for part in (data.images, data.labels))
        found.append(cross_entropy(engine.model.logits(weights[s], images), labels))
    return torch.stack(found)


def test_the_forgotten_clients_loss_rises() -> None:
    """lambda CE is taken from what is minimised; the average with everybody keeps 41/46 of the old model."""
    world, forget = trained(VARIATIONAL), masks(7, 2)[0]
    method = Bfu(epochs=20.0, stop_accuracy=0.0)
    before = loss_of(world, world.lineage.current, forget)
    alone, averaged = (
        loss_of(world, world.answer(replace(method, average=average), [forget], rounds=0)[0].unlearned.weights, forget)
        for average in ("forgotten", "everyone")
    )
    assert (averaged > before).all()
    assert (alone > averaged).all()


def test_an_accuracy_stops_it() -> None:
    """After the first step with fewer than half of its answers right; a step earlier they still were. 40 epochs of 5
    examples in batches of 4 are 50 steps at most, and (n - 1.5) 4/5 epochs are n - 1 steps, rounded up.
    """
    world, forget = trained(VARIATIONAL), masks(7, 2)[0]
    method = Bfu(epochs=40.0, stop_accuracy=0.5, average="forgotten")
    (stopped,) = world.answer(method, [forget], rounds=0)
    steps = stopped.work.client_steps
    assert (share_right(world, stopped.unlearned.weights, forget) < 0.5).all()
    assert ((steps > 1) & (steps < 50)).all()
    for s, taken in enumerate(steps.tolist()):
        (before,) = world.answer(replace(method, epochs=(taken - 1.5) * 4 / 5, stop_accuracy=0.0), [forget], rounds=0)
        assert before.work.client_steps[s] == taken - 1
        assert share_right(world, before.unlearned.weights, forget)[s] >= 0.5


def share_right(world: World, weights: Tensor, forget: Tensor) -> Tensor:
    """The accuracy of models on the data of the one client in `forget`. [S]"""
    engine = world.lineage.engine
    return engine.evaluator.correct(weights, torch.arange(len(weights)))[forget] / engine.clients.size[forget]


def test_other_models_are_refused() -> None:
    with pytest.raises(MethodRefused, match="set model: variational"):
        trained(SCENARIO).answer(Bfu(), rounds=1)
