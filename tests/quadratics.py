"""A federation with a closed form: f_i(x) = ||x - c_i||^2 / 2, K steps of gradient descent, all clients in each round.

With r = (1 - eta)^K a client ends at c_i + r (theta - c_i), and the optimum of any set is the mean of its centres. The
seed and the scale of the draw are chosen so that distances match a known table; the closed forms are checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from sifu.config.scenario import Scenario
from sifu.contract.world import SCENARIO
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.federation.engine import Engine
from sifu.federation.local import LocalTrainer
from sifu.federation.local.batches import Batches
from sifu.federation.stop import Stop
from sifu.hardware.workers import Workers
from sifu.models.flat import FlatModel
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server
from tests.conftest import tiny_federation

CLIENTS, FEATURES, STEPS, ETA = 6, 4, 5, 0.1
MOVES = 0.2613  # how far the optimum moves without client 0: the draw is scaled to it


@dataclass(frozen=True)
class QuadraticEngine(Engine):
    """The engine with a quadratic loss."""

    centres: Tensor = field(kw_only=True)  # [C, P]

    @cached_property
    def trainer(self) -> LocalTrainer:
        def train(start: Tensor, seeds: Tensor, cohort: Tensor, batches: Batches) -> Tensor:
            shrunk = (1 - ETA) ** batches.index.shape[2]
            centres = self.centres[cohort.clamp(min=0)]  # [R, m, P]
            ended = centres + shrunk * (start.unsqueeze(1) - centres)
            return torch.where((cohort >= 0).unsqueeze(-1), ended, start.unsqueeze(1))

        return train


def draw() -> tuple[Tensor, Tensor]:
    """Centres [C, P] and first weights [P], standard normal, scaled so that the optimum moves by MOVES."""
    random = np.random.default_rng(22)
    centres, start = random.normal(size=(CLIENTS, FEATURES)), random.normal(size=FEATURES)
    scale = MOVES / np.linalg.norm(centres.mean(0) - centres[1:].mean(0))
    return torch.tensor(centres * scale), torch.tensor(start * scale)


def quadratic_history(rounds: int) -> Lineage:
    """A training of `rounds` rounds with all clients and a snapshot of every round."""
    centres, start = draw()
    model = FlatModel(nn.Linear(FEATURES, 1, bias=False).double())
    nothing = torch.zeros(1, CLIENTS, 1, 1, 1, FEATURES, dtype=torch.float64)
    clients = Clients(nothing, torch.zeros(1, CLIENTS, 1, dtype=torch.int64), torch.ones(1, CLIENTS, dtype=torch.int64))
    federation = tiny_federation(clients_per_round=CLIENTS, local_steps=STEPS, batch_size=1)
    engine = QuadraticEngine(model, clients, federation, Workers(1), centres=centres)
    everyone = torch.ones(1, CLIENTS, dtype=torch.bool)
    stop = Stop(None, 0, torch.tensor([rounds]))
    return Lineage.of(engine, engine.run(start[None], everyone, Keys.of([0]), stop, snapshot_every=1))


def scenario() -> Scenario:
    federation = tiny_federation(clients_per_round=CLIENTS, local_steps=STEPS, batch_size=1)
    return replace(SCENARIO, federation=federation)


def without_recovery(history: Lineage, forgotten: list[int]) -> tuple[Request, Server]:
    """A request to forget clients, which may be empty, and a server that does no recovery rounds."""
    forget = torch.zeros_like(history.segments[0].available)
    forget[:, forgotten] = True
    request = Request(1, forget, history.segments[0].available & ~forget)
    stop = Stop(None, 0, torch.zeros(len(forget), dtype=torch.int64))
    return request, Server(history.engine, request, stop, scenario())
