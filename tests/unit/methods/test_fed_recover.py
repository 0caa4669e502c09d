"""FedRecover: exact where curvatures are shared, a replay where everybody trains, and what it pays for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sifu.contract.world import SCENARIO, World, masks
from sifu.core.keys import Keys
from sifu.federation.stop import Stop
from sifu.methods.fed_recover import FedRecover
from sifu.unlearning.past_round import PastRound, train_again
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server
from tests import reference_unlearning
from tests.contract.answer import unlearn
from tests.quadratic_clients import (
    CENTRES,
    CLIENTS,
    ETA,
    FEATURES,
    FEDERATION,
    REMAIN,
    STEPS,
    Offset,
    distance,
    forgotten_by,
    lineage_of,
    quadratic_lineage,
)

METHOD = FedRecover(warm_up=6, every=5, final=2)
Stored = list[tuple[Tensor, dict[int, Tensor]]]  # of each round its model, and the updates of remaining clients


@pytest.mark.second
def test_shared_curvature_makes_every_estimate_exact() -> None:
    """Clients train in rounds 0 to 5, in 10, 15, ..., 35 and in the last two: 14 rounds of 5 clients and 5 steps."""
    model, server = forgotten_by(METHOD, quadratic_lineage(40))
    assert distance(model, 40) < 1e-14
    assert server.spent.rounds.tolist() == [14]
    assert server.spent.client_steps.tolist() == [14 * 5 * STEPS]
    assert server.spent.comm_floats.tolist() == [14 * 5 * 2 * FEATURES]


@pytest.mark.second
def test_if_everybody_trains_it_is_scratch() -> None:
    """T_c = 1, all clients in each round: bit for bit the rounds that Scratch would train."""
    history = quadratic_lineage(12)
    model, server = forgotten_by(FedRecover(warm_up=0, every=1), history)
    available = torch.ones(1, CLIENTS, dtype=torch.bool)
    available[0, 3] = False
    scratch = history.engine.run(history.start, available, Keys.of([0]), Stop(None, 0, torch.tensor([12]))).final[0]
    assert torch.equal(model, scratch)
    assert server.spent.rounds.tolist() == [12]


class Scaled(Offset):
    """a (x - image): the Hessian is diag(a^2), of more kinds than two pairs tell."""

    def forward(self, images: Tensor) -> Tensor:
        return super().forward(images) * torch.tensor([0.4, 0.7, 1.0, 1.3], dtype=torch.float64)


def retrained(rounds: int, factor: np.ndarray) -> np.ndarray:
    """x_j after `rounds` rounds without client 3: mean_j + factor_j^rounds (0 - mean_j)."""
    return CENTRES[REMAIN].mean(0) * (1 - factor**rounds)


@pytest.mark.long
def test_rounds_of_training_contract_what_estimates_missed() -> None:
    """A round in which everybody trains multiplies the distance to retraining by (1 - eta a_j^2)^K in coordinate j.

    The first 30 rounds of both are the same; 36 goes on with six of them.
    """
    factor = (1 - ETA * np.array([0.4, 0.7, 1.0, 1.3]) ** 2) ** STEPS
    module: nn.Module = Scaled()
    first, second = (
        forgotten_by(FedRecover(warm_up=3, every=100, final=final), lineage_of(rounds, CENTRES, module))[0].numpy()
        for rounds, final in ((30, 0), (36, 6))
    )
    missed = first - retrained(30, factor)
    assert 1e-6 < np.linalg.norm(missed) < 0.458357  # not exact, and better than the original
    np.testing.assert_allclose(second - retrained(36, factor), factor**6 * missed, rtol=1e-9, atol=1e-14)


@pytest.mark.long
def test_estimates_above_the_limit_are_replaced() -> None:
    """With alpha = 1 the limit is the smallest stored number of a round, the largest over rounds: more train."""
    few, many = (
        forgotten_by(FedRecover(warm_up=6, every=5, final=2, tolerance=a), quadratic_lineage(40))[1] for a in (0.0, 1.0)
    )
    assert few.spent.client_steps.tolist() == [350]
    assert many.spent.client_steps.tolist()[0] > 350
    assert distance(forgotten_by(FedRecover(tolerance=1.0), quadratic_lineage(40))[0], 40) < 1e-14


MU, ROUNDS = 1.0, 24


class Ridge(Offset):
    """(x'w - y)^2 / 2 + mu ||w||^2 / 2 as half a squared length; x is the image's first three numbers and 1, y its
    last.
    """

    def forward(self, images: Tensor) -> Tensor:
        x, y = images.flatten(1).split([3, 1], dim=1)
        rest = x @ self.x[:3, None] + self.x[3] - y  # [n, 1]
        return torch.cat([rest, MU**0.5 * self.x.expand(len(x), -1)], dim=1)


X, Y = np.c_[CENTRES[:, :3], np.ones(CLIENTS)], CENTRES[:, 3]
SMOOTH = float((X**2).sum(1).max() + MU)  # L: the Hessian of client i is x x' + mu


def gradients(w: np.ndarray) -> np.ndarray:
    """Of every client at w [P]. [C, P]"""
    return X * (X @ w - Y)[:, None] + MU * w


def test_its_bound_holds_on_ridge_regression(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one step of eta = 1 / L, and estimated gradients that are wrong by at most M, the model of round t is at
    most (1 - q^t) / (1 - q) eta M away from that of retraining, q^2 = 1 - eta mu.

    d' = d - eta (g~ - g) - eta e for d = w~ - w, from d = 0 as both start from theta^0. Without e the squared length is
    d^2 - 2 eta d.(g~ - g) + eta^2 |g~ - g|^2 <= d^2 - eta d.(g~ - g) <= q^2 d^2, by |g~ - g|^2 <= L d.(g~ - g) and
    convexity. So |d'| <= q |d| + eta M, a geometric sum. M is measured; the bound is worth something while the original
    model is further away.
    """
    eta, replayed = 1 / SMOOTH, recorded(monkeypatch)
    lineage = lineage_of(ROUNDS, CENTRES, Ridge(), replace(FEDERATION, local_steps=1, client_lr=eta))
    last, _ = forgotten_by(FedRecover(warm_up=3, every=10, final=0), lineage)
    models = np.stack([*(model for model, _, _ in replayed), last.numpy()])  # [ROUNDS + 1, P]
    errors = [np.linalg.norm((w - local) / eta - gradients(w)[cohort], axis=1).max() for w, local, cohort in replayed]
    assert [n for n, error in enumerate(errors) if error < 1e-14] == [0, 1, 2, 12, 22]  # in which all train
    q, without = (1 - eta * MU) ** 0.5, descended(REMAIN, eta)
    bound = (1 - q ** np.arange(ROUNDS + 1)) / (1 - q) * eta * max(errors)
    assert (np.linalg.norm(models - without, axis=1) <= bound + 1e-14).all()
    assert (bound < np.linalg.norm(descended(list(range(CLIENTS)), eta) - without, axis=1))[1:].all()


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[np.ndarray, np.ndarray, list[int]]]:
    """Of every round that a server averages from now on: its model, those of the clients, and who they are."""
    mean, found = Server.average, list[tuple[np.ndarray, np.ndarray, list[int]]]()

    def spied(self: Server, model: Tensor, local: Tensor, past: PastRound) -> Tensor:
        here = past.cohort[0] >= 0
        found.append((model[0].numpy(), local[0, here].numpy(), past.cohort[0, here].tolist()))
        return mean(self, model, local, past)

    monkeypatch.setattr(Server, "average", spied)
    return found


def descended(clients: list[int], eta: float) -> np.ndarray:
    """Gradient descent on the mean of these clients' losses, from 0: the models of all rounds. [ROUNDS + 1, P]"""
    models = [np.zeros(FEATURES)]
    for _ in range(ROUNDS):
        models.append(models[-1] - eta * gradients(models[-1])[clients].mean(0))
    return np.stack(models)


EARLY, SPREAD = {"warm_up": 2, "every": 100, "final": 1}, {"warm_up": 1, "every": 3, "final": 1}


@pytest.mark.parametrize(
    ("when", "exact", "tolerance"),
    [(EARLY, {0, 1, 7}, 1e-6), (SPREAD, {0, 3, 6, 7}, 1e-6), (SPREAD, {0, 3, 6, 7}, 0.05)],
)
def test_it_is_the_plain_loop(when: dict[str, int], exact: set[int], tolerance: float) -> None:
    """Cohorts of three of seven clients, with different examples: a client that has no pair yet trains, too.

    With a tolerance of 5% some estimates are above the limit: these clients train as well, and give no pair.
    """
    world, forget = World.make(), masks(7, 3)[1]
    request = Request(1, forget, ~forget)
    (answer,) = world.answer(FedRecover(**when, tolerance=tolerance), [forget], rounds=0)  # type: ignore[arg-type]
    steps, unlimited = [], []
    for s in range(3):
        stored = stored_rounds(world, request, s)
        limit = max(quantile(list(updates.values()), tolerance) for _, updates in stored if updates)
        plain, trained = plain_loop(world, s, stored, exact, limit)
        torch.testing.assert_close(answer.unlearned.weights[s], plain, rtol=1e-4, atol=1e-6)
        steps.append(2 * trained)  # two steps of each client that trains
        unlimited.append(2 * plain_loop(world, s, stored, exact, float("inf"))[1])
    assert answer.work.client_steps.tolist() == steps
    assert (steps != unlimited) == (tolerance == 0.05)


def plain_loop(world: World, s: int, stored: Stored, exact: set[int], limit: float) -> tuple[Tensor, int]:
    """The replay of seed s [P], and how often a client trained in it."""
    asked: list[int] = []

    def train(number: int, client: int, model: Tensor) -> Tensor:
        asked.append(client)
        return update(world, s, number, client, model)

    start, size = world.lineage.segments[0].start[s], world.lineage.engine.clients.size[s].tolist()
    rounds = [n in exact for n in range(8)]
    return reference_unlearning.fed_recover(start, stored, train, size, rounds, keep=2, limit=limit), len(asked)


def update(world: World, s: int, number: int, client: int, model: Tensor) -> Tensor:
    """What a client sends from `model` [P] in a round of seed s."""
    engine, segment = world.lineage.engine, world.lineage.segments[0]
    past = PastRound.of(segment, 0, number, segment.rounds)
    alone, start = torch.zeros(3, 7, dtype=torch.bool), segment.start.clone()
    alone[s, client], start[s] = True, model
    return train_again(engine, start, past.only(alone)).local[s, 0] - model


def stored_rounds(world: World, request: Request, s: int) -> Stored:
    """Of each of the 8 rounds of seed s its model, and the updates of the remaining clients."""
    engine, segment, found = world.lineage.engine, world.lineage.segments[0], []
    for n in range(8):
        model = engine.replay(segment, torch.full((3,), n))[s]
        cohort = [c for c in segment.trace.cohort[s, n].tolist() if c >= 0 and request.remain[s, c]]
        found.append((model, {c: update(world, s, n, c, model) for c in cohort}))
    return found


def quantile(updates: list[Tensor], tolerance: float) -> float:
    """The number of these updates that a share `tolerance` of all of them is above in size."""
    sizes = sorted((abs(number) for one in updates for number in one.tolist()), reverse=True)
    return float(sizes[int(tolerance * len(sizes))])


def test_a_budget_ends_the_replay() -> None:
    """Three clients a round, two steps: 6 client steps a round where all of them remain; seed 1 has nothing."""
    world, forget = World.make(), masks(7, 3)[0]
    request = Request(1, forget, ~forget)
    stop = Stop.at_budget(torch.tensor([1000, 0, 13]), torch.full((3,), 6))
    server = Server(world.lineage.engine, request, stop, SCENARIO)
    answer = unlearn(FedRecover(), world.lineage, request, server, Keys.of(world.seeds))
    assert answer.node.round.tolist()[:2] == [8, 0]
    assert 2 <= answer.node.round.tolist()[2] < 8
    assert torch.equal(answer.segment.start[1], world.lineage.start[1])
    assert server.spent.client_steps[2] <= 13
