"""MoDe: the closed form of degradation, a round of guidance by a plain loop, and what both cost."""

from __future__ import annotations

import numpy as np
import torch

from sifu.contract.world import SCENARIO, World, masks
from sifu.core.keys import Keys
from sifu.federation.local.loss import PseudoLabels
from sifu.federation.stop import Stop
from sifu.methods.mode import Mode
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server
from tests.contract.answer import unlearn
from tests.quadratic_clients import (
    CENTRES,
    CLIENTS,
    FEATURES,
    GONE,
    REMAIN,
    STEPS,
    forgotten_by,
    quadratic_lineage,
    trained,
)


def test_degradation_alone_has_a_closed_form() -> None:
    """lambda^6 theta^N + (1 - lambda) sum_i lambda^(6 - i) D_i; new initial weights are zero, as theta^0.

    So D_i is the retrained model after i rounds.
    """
    model, server = forgotten_by(Mode(guided_rounds=0), quadratic_lineage(30))
    expected = 0.95**6 * trained(30) + 0.05 * sum(0.95 ** (6 - i) * trained(i, REMAIN) for i in range(1, 7))
    np.testing.assert_allclose(model.numpy(), expected, rtol=0, atol=1e-12)
    assert round(0.95**6, 3) == 0.735
    assert server.spent.client_steps.tolist() == [6 * len(REMAIN) * STEPS]


def test_the_ends_of_lambda() -> None:
    """1: theta^N; 0: D, which is the retrained model after six rounds."""
    kept, replaced = (forgotten_by(Mode(keep=keep, guided_rounds=0), quadratic_lineage(30))[0] for keep in (1.0, 0.0))
    assert torch.equal(kept, quadratic_lineage(30).current[0])
    np.testing.assert_allclose(replaced.numpy(), trained(6, REMAIN), rtol=0, atol=1e-12)


def test_pseudo_labels_are_the_teachers_answers() -> None:
    taught = torch.tensor([[0.0, 3.0, 1.0], [5.0, 0.0, 0.0]])
    found = PseudoLabels(torch.zeros(1, 1))(taught * 2, torch.tensor([2, 2]), taught)
    expected = -(taught * 2).log_softmax(1)[torch.arange(2), torch.tensor([1, 0])]
    torch.testing.assert_close(found, expected)


def test_a_round_of_guidance_is_the_plain_loop() -> None:
    """Client 3 descends the cross-entropy of D's answer, from logits x - c; the others their own loss."""
    new, theta = trained(1, REMAIN), trained(30)
    theta = 0.9 * theta + 0.1 * new
    answer = np.argmax(new - CENTRES[GONE])
    sent = []
    for client in range(CLIENTS):
        x = theta.copy()
        for _ in range(STEPS):
            if client == GONE:
                p = np.exp(x - CENTRES[client])
                x = x - 0.3 * (p / p.sum() - np.eye(FEATURES)[answer])
            else:
                x = x - 0.02 * (x - CENTRES[client])
        sent.append(x)
    method = Mode(keep=0.9, degrade_rounds=1, guided_rounds=1, guided_lr=0.02, forgotten_lr=0.3)
    model, server = forgotten_by(method, quadratic_lineage(30))
    np.testing.assert_allclose(model.numpy(), np.mean(sent, axis=0), rtol=0, atol=1e-12)
    assert server.spent.rounds.tolist() == [2]
    assert server.spent.client_steps.tolist() == [(len(REMAIN) + CLIENTS) * STEPS]
    assert server.spent.comm_floats.tolist() == [(len(REMAIN) + CLIENTS) * 2 * FEATURES]


def test_what_it_costs() -> None:
    """Six rounds of D and ten of guidance: cohorts of three, and clients 0 and 3 in the latter; two steps each."""
    (answer,) = World.make().answer(Mode(), masks(7, 3)[1:2], rounds=0)
    assert answer.work.rounds.tolist() == [16] * 3
    assert answer.work.client_steps.tolist() == [(6 * 3 + 10 * 5) * 2] * 3


def test_a_seed_whose_budget_does_not_reach_takes_no_further_step() -> None:
    """The first round of D costs 6 client steps, guidance 4 and 6: seed 0 has none, seed 1 the first, seed 2 all."""
    world, forget = World.make(), masks(7, 3)[1]
    request = Request(1, forget, ~forget)
    stop = Stop.at_budget(torch.tensor([5, 9, 1000]), torch.full((3,), 6))
    server = Server(world.lineage.engine, request, stop, SCENARIO, forgotten_data=True)
    answer = unlearn(Mode(), world.lineage, request, server, Keys.of(world.seeds))
    moved = (answer.segment.start != world.lineage.current).any(1)
    assert moved.tolist() == [False, True, True]
    assert server.spent.client_steps.tolist()[:2] == [0, 6]
