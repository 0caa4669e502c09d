"""A federation with closed forms: f_i(x) = ||x - c_i||^2 / 2, with real clients, a real model and a real loss.

Client i has one image, c_i; the model is x - image with x its only weights, and the loss half the squared length of
that. Six clients with four features each, eta = 0.1, K = 5 steps of gradient descent, theta^0 = 0, all clients in each
round; client 3 is to be forgotten. With r = 0.9^5 a client ends a round at c_i + r (theta - c_i), and the optimum of
any set of clients is the mean of their centres.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import torch
from torch import Tensor, nn

from sifu.config.federation import Federation
from sifu.config.optimiser import own_sgd
from sifu.config.scenario import Scenario
from sifu.contract.world import SCENARIO
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.federation.engine import Engine
from sifu.federation.local import LocalTrainer
from sifu.federation.local.guided import GuidedTrainer
from sifu.federation.local.loss import Loss
from sifu.federation.stop import Stop
from sifu.hardware.workers import Workers
from sifu.models.flat import FlatModel
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server
from tests.contract.answer import unlearn

CLIENTS, FEATURES, STEPS, ETA, GONE = 6, 4, 5, 0.1, 3
CENTRES = np.random.default_rng(0).normal(size=(CLIENTS, FEATURES))
R = (1 - ETA) ** STEPS


class Offset(nn.Module):
    """x - image."""

    def __init__(self) -> None:
        super().__init__()
        self.x = nn.Parameter(torch.zeros(FEATURES, dtype=torch.float64))

    def forward(self, images: Tensor) -> Tensor:
        return self.x - images.flatten(1)  # [n, features]


@dataclass(frozen=True)
class HalfSquare:
    """||logits||^2 / 2."""

    name: str = "half square"
    teacher: None = None

    def __call__(self, logits: Tensor, labels: Tensor, taught: Tensor | None) -> Tensor:
        return logits.square().sum(-1) / 2


@dataclass(frozen=True)
class QuadraticEngine(Engine):
    """The engine with that loss."""

    @cached_property
    def loss(self) -> Loss:
        return HalfSquare()

    @cached_property
    def trainer(self) -> LocalTrainer:
        optimiser = self.optimiser or own_sgd(self.federation)
        return GuidedTrainer(self.model, self.clients, optimiser, self.loss, self.workers)


FEDERATION = Federation(clients_per_round=CLIENTS, local_steps=STEPS, batch_size=1, client_lr=ETA, momentum=0.0)


@cache
def quadratic_lineage(rounds: int) -> Lineage:
    """A training of `rounds` rounds, made once: tests read it."""
    return lineage_of(rounds, CENTRES)


def lineage_of(
    rounds: int, centres: np.ndarray, module: nn.Module | None = None, federation: Federation = FEDERATION
) -> Lineage:
    """A training of `rounds` rounds of clients with other centres, of another model, or in another federation."""
    model = FlatModel(module or Offset())
    images = torch.tensor(centres).view(1, CLIENTS, 1, 1, 1, FEATURES)
    ones = torch.ones(1, CLIENTS, dtype=torch.int64)
    clients = Clients(images, torch.zeros(1, CLIENTS, 1, dtype=torch.int64), ones)
    engine = QuadraticEngine(model, clients, federation, Workers(1))
    start = torch.zeros(1, FEATURES, dtype=torch.float64)
    stop = Stop(None, 0, torch.tensor([rounds]))
    return Lineage.of(engine, engine.run(start, ones.bool(), Keys.of([0]), stop, snapshot_every=1))


def scenario() -> Scenario:
    return replace(SCENARIO, federation=FEDERATION)


def forgotten_by(
    method: Method, lineage: Lineage, gone: tuple[int, ...] = (GONE,), budget: int | None = None
) -> tuple[Tensor, Server]:
    """The model of a method without recovery, [P], and the server that counted; `budget`: client steps."""
    forget = torch.zeros(1, CLIENTS, dtype=torch.bool)
    forget[:, list(gone)] = True
    request = Request(1, forget, lineage.segments[-1].available & ~forget)
    nothing = torch.zeros(1, dtype=torch.int64)
    stop = Stop(None, 0, nothing) if budget is None else Stop(None, 0, nothing, nothing + budget, nothing + 10**6)
    declared = method.assumptions
    server = Server(
        lineage.engine,
        request,
        stop,
        replace(scenario(), federation=lineage.engine.federation),
        forgotten_data=declared.forgotten_data,
        server_data=declared.server_data,
    )
    return unlearn(method, lineage, request, server, Keys.of([0])).segment.final[0], server


def trained(rounds: int, clients: list[int] | None = None) -> np.ndarray:
    """theta^N of those clients, by a plain loop of gradient descent: shares nothing with the suite."""
    chosen = list(range(CLIENTS)) if clients is None else clients
    theta = np.zeros(FEATURES)
    for _ in range(rounds):
        theta = np.mean([local(theta, client) for client in chosen], axis=0)
    return theta


def local(theta: np.ndarray, client: int) -> np.ndarray:
    """The model of a client after its K steps from `theta`."""
    x = theta.copy()
    for _ in range(STEPS):
        x = x - ETA * (x - CENTRES[client])
    return x


REMAIN = [client for client in range(CLIENTS) if client != GONE]


def distance(model: Tensor, rounds: int) -> float:
    """How far a model [P] is from the one retrained without client 3 for as many rounds."""
    return float(np.linalg.norm(model.numpy() - trained(rounds, REMAIN)))
