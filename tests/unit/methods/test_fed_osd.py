"""FedOSD: orthogonal to the remaining clients, no way back, no step where there is none, and all that it costs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from sifu.contract.world import SCENARIO, World, masks
from sifu.core.keys import Keys
from sifu.federation.local.loss import Unlikely
from sifu.federation.stop import Stop
from sifu.methods.fed_osd import FedOsd
from sifu.unlearning.orthogonal import orthogonal
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server
from tests import reference_unlearning
from tests.contract.answer import unlearn
from tests.quadratic_clients import CENTRES, CLIENTS, FEATURES, forgotten_by, quadratic_lineage, trained

ONE = FedOsd(rounds=1, guarded_rounds=0, lr=0.01)
GONE, STAY = (0, 1, 2, 3), (4, 5)  # two remaining clients leave two of four directions free


def test_the_loss_is_bounded_and_its_slope_vanishes_at_both_ends() -> None:
    """-log(1 - p / 2); d / dz_j = p_y / (2 - p_y) (1[j = y] - p_j)."""
    logits = torch.tensor([[2.0, -1.0, 0.5], [50.0, 0.0, 0.0], [-50.0, 0.0, 0.0]], requires_grad=True)
    labels = torch.zeros(3, dtype=torch.int64)
    losses = Unlikely()(logits, labels, None)
    losses.sum().backward()
    p = logits.detach().softmax(1)
    assert losses.tolist()[1:] == pytest.approx([math.log(2), 0.0], abs=1e-6)
    expected = (p[:, :1] / (2 - p[:, :1])) * (torch.eye(3)[labels] - p)
    torch.testing.assert_close(logits.grad, expected, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(expected[1:], torch.zeros(2, 3), rtol=0, atol=1e-6)


def test_a_direction_is_orthogonal_as_long_and_forwards() -> None:
    """Against least squares: A d = 0, ||d|| = ||V||, d . V >= 0; repeated and empty rows change nothing."""
    draw = torch.Generator().manual_seed(0)
    direction, rows = torch.randn(3, 50, generator=draw), torch.randn(3, 6, 50, generator=draw)
    rows[1, 3:] = rows[1, :3]
    rows[2, 5] = 0
    found = orthogonal(direction, rows)
    for one, (d, a) in zip(found, zip(direction, rows, strict=True), strict=True):
        torch.testing.assert_close(one.double(), reference_unlearning.orthogonal(d, a), rtol=1e-4, atol=1e-5)
    assert (rows @ found[..., None]).abs().max() < 1e-5
    torch.testing.assert_close(found.norm(dim=1), direction.norm(dim=1))
    assert ((found * direction).sum(1) >= 0).all()
    torch.testing.assert_close(orthogonal(direction, rows * 0), direction)


def test_there_is_no_step_where_the_remaining_clients_span_it() -> None:
    """Five remaining clients in four dimensions: nothing is orthogonal to all of them."""
    model, server = forgotten_by(ONE, quadratic_lineage(30))
    assert torch.equal(model, quadratic_lineage(30).current[0])
    assert server.spent.client_steps.tolist() == [CLIENTS]  # and yet everybody trained, one step each


def plain_step(theta: np.ndarray, lr: float) -> np.ndarray:
    """The first round of the quadratic clients, client by client, where logits are theta - c and every label is 0."""
    slopes = []
    for client in GONE:
        p = np.exp(theta - CENTRES[client])
        p = p / p.sum()
        slopes.append(p[0] / (2 - p[0]) * (np.eye(FEATURES)[0] - p))
    away = lr * np.mean(slopes, axis=0)
    rows = lr * (theta - CENTRES[list(STAY)])
    d = away - rows.T @ np.linalg.lstsq(rows.T, away, rcond=None)[0]
    return d * np.linalg.norm(away) / np.linalg.norm(d)


def test_a_step_on_the_bed_is_the_plain_loop() -> None:
    """f_i changes by ||d||^2 / 2 for the remaining clients: nothing to first order."""
    theta = trained(30)
    model, _ = forgotten_by(ONE, quadratic_lineage(30), GONE)
    d = plain_step(theta, 0.01)
    np.testing.assert_allclose(model.numpy(), theta - d, rtol=0, atol=1e-12)
    for client in STAY:
        before, after = (np.sum((x - CENTRES[client]) ** 2) / 2 for x in (theta, model.numpy()))
        assert after - before == pytest.approx(d @ d / 2, rel=1e-6)


def test_guarded_rounds_do_not_turn_back() -> None:
    """Their step is orthogonal to theta - theta^N, and the mean of vectors as long as the clients' own."""
    first, _ = forgotten_by(ONE, quadratic_lineage(30), GONE)
    guarded = FedOsd(rounds=1, lr=0.01, guarded_rounds=1, guarded_lr=0.05)
    second, server = forgotten_by(guarded, quadratic_lineage(30), GONE)
    moved, back = (second - first).numpy(), first.numpy() - trained(30)
    assert abs(moved @ back) < 1e-12 * np.linalg.norm(moved)
    own = []
    for client in STAY:
        v = 0.05 * (first.numpy() - CENTRES[client])
        left = v - (v @ back) / (back @ back) * back
        own.append(left * np.linalg.norm(v) / np.linalg.norm(left))
    np.testing.assert_allclose(moved, -np.mean(own, axis=0), rtol=0, atol=1e-12)
    assert server.spent.client_steps.tolist() == [CLIENTS + len(STAY)]
    assert server.spent.rounds.tolist() == [2]
    assert server.spent.comm_floats.tolist() == [(CLIENTS + len(STAY)) * 2 * FEATURES]


def test_steps_get_shorter_from_round_to_round() -> None:
    """Half a step size in the second round: of forgetting as in the plain loop, of guarded rounds half of V_i."""
    theta = trained(30)
    for number in range(2):
        theta = theta - plain_step(theta, 0.01 * 0.5**number)
    method = FedOsd(rounds=2, guarded_rounds=0, lr=0.01, decay=0.5)
    np.testing.assert_allclose(forgotten_by(method, quadratic_lineage(30), GONE)[0].numpy(), theta, rtol=0, atol=1e-12)
    guarded = replace(method, rounds=1, guarded_lr=0.05)
    first, second = (
        forgotten_by(replace(guarded, guarded_rounds=n), quadratic_lineage(30), GONE)[0].numpy() for n in (1, 2)
    )
    own, back = [], first - trained(30)
    for client in STAY:
        v = 0.05 * 0.5 * (first - CENTRES[client])
        left = v - (v @ back) / (back @ back) * back
        own.append(left * np.linalg.norm(v) / np.linalg.norm(left))
    np.testing.assert_allclose(second - first, -np.mean(own, axis=0), rtol=0, atol=1e-12)


def test_everybody_pays_in_every_round() -> None:
    """Seven clients with 8, 5, 6, 8, 7, 4 and 8 examples in batches of 4: 13 steps; without 0 and 3, 9 of them."""
    (answer,) = World.make().answer(FedOsd(rounds=3, guarded_rounds=2), masks(7, 3)[1:2], rounds=0)
    assert answer.work.client_steps.tolist() == [3 * 13 + 2 * 9] * 3
    assert answer.work.rounds.tolist() == [5] * 3


def test_a_seed_whose_budget_does_not_reach_takes_no_further_step() -> None:
    """A round costs 4 steps of clients 0 and 3, and 9 of the others. Seed 1 cannot have the second half of one."""
    world, forget = World.make(), masks(7, 3)[1]
    request = Request(1, forget, ~forget)
    stop = Stop.at_budget(torch.tensor([13, 12, 1000]), torch.full((3,), 6))
    server = Server(world.lineage.engine, request, stop, SCENARIO, forgotten_data=True)
    answer = unlearn(FedOsd(rounds=2, guarded_rounds=0), world.lineage, request, server, Keys.of(world.seeds))
    moved = (answer.segment.start != world.lineage.current).any(1)
    assert moved.tolist() == [True, False, True]
    assert server.spent.client_steps.tolist()[:2] == [13, 4 + 6]  # seed 1 recovers for a round with the rest
