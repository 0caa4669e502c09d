"""A small trained federation that methods can be tried on."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor

from sifu.catalog.datasets import DATASETS
from sifu.config.fields import build, to_plain
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.errors import MethodRefused
from sifu.federation.engine import Engine
from sifu.federation.stop import Stop
from sifu.hardware.workers import Workers
from sifu.models.flat import build_model
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, OwnTraining
from sifu.unlearning.sequence import Answer, answer_request

SIZES = (8, 5, 6, 8, 7, 4, 8)
FORGET = ((1,), (0, 3), (5,))  # of three requests; 2, 4 and 6 remain
SCENARIO: Scenario = build(
    Scenario,
    {
        "label": "World",
        "dataset": {"name": "mnist", "source": "embedded"},
        "model": "logistic",
        "stop": {"accuracy": 0.9, "min_rounds": 10, "max_rounds": 1000},
        "partition": {"kind": "iid", "num_clients": len(SIZES), "examples": 4},
        "federation": {"clients_per_round": 3, "local_steps": 2, "batch_size": 4, "client_lr": 0.02},
        "requests": {"kind": "listed", "clients": [list(clients) for clients in FORGET]},
        "certificate": {"sigma": 0.02},
        "snapshot_every": 1,  # every model is kept: nothing has to be replayed with the data of forgotten clients
    },
    "world",
)


CONVEX: Scenario = build(
    Scenario,
    to_plain(SCENARIO)
    | {
        "dataset": {"name": "mnist", "scale": "unit"},
        "partition": {"kind": "iid", "num_clients": len(SIZES), "examples": 8},
        "federation": {
            "clients_per_round": len(SIZES),
            "local_steps": 1,
            "batch_size": 8,
            "client_lr": 1.0,
            "weight_decay": 0.2,
        },
        "certificate": {"sigma": 0.02, "contraction": 1 - 1.2 * 0.2 / 1.4},  # beta = 1.2, mu = 0.2, eta = 1
    },
    "convex",
)


VARIATIONAL, PARTICLES = (replace(SCENARIO, model=name) for name in ("variational", "particles"))


@cache
def scenario_for(method: Method) -> Scenario:
    """The first of the scenarios that a method does not refuse, as it is trained for the method."""
    if isinstance(method, OwnTraining):
        return method.training(SCENARIO)
    for scenario in (SCENARIO, CONVEX, VARIATIONAL, PARTICLES):
        with suppress(MethodRefused):
            trained(scenario).answer(method, rounds=1)
            return scenario
    return SCENARIO  # whose refusal then says what is missing


@cache
def trained(scenario: Scenario) -> World:
    """A scenario's usual world of two seeds, trained once: methods read it, none may change it."""
    return World.make(seeds=range(2), scenario=scenario)


def random_clients(seeds: int) -> Clients:
    """Random images; client c holds SIZES[c] of them, the largest fills the row."""
    spec = DATASETS["mnist"]
    generator = torch.Generator().manual_seed(1)
    places = (seeds, len(SIZES), max(SIZES))
    return Clients(
        torch.randn(*places, *spec.shape, generator=generator),
        torch.randint(spec.num_classes, places, generator=generator),
        torch.tensor(SIZES).expand(seeds, -1).clone(),
    )


def random_server_data(seeds: Iterable[int]) -> Clients:
    """The server's own examples: 12 random images a seed."""
    spec, images, labels = DATASETS["mnist"], [], []
    for seed in seeds:
        generator = torch.Generator().manual_seed(1000 + seed)
        images.append(torch.randn(1, 12, *spec.shape, generator=generator))
        labels.append(torch.randint(spec.num_classes, (1, 12), generator=generator))
    return Clients(torch.stack(images), torch.stack(labels), torch.full((len(images), 1), 12))


def masks(num_clients: int, num_seeds: int) -> list[Tensor]:
    """The clients of each request. [S, C] each"""
    found = []
    for clients in FORGET:
        mask = torch.zeros(num_seeds, num_clients, dtype=torch.bool)
        mask[:, list(clients)] = True
        found.append(mask)
    return found


@dataclass(frozen=True)
class World:
    """A federation, its training, and the requests that it receives."""

    lineage: Lineage
    seeds: range
    scenario: Scenario = SCENARIO

    @staticmethod
    def make(
        clients: Clients | None = None,
        seeds: range = range(3),
        available: Tensor | None = None,
        device: str = "cpu",
        scenario: Scenario = SCENARIO,
    ) -> World:
        """A federation of random images, trained for some rounds."""
        if clients is None:
            clients = random_clients(len(seeds))
            if scenario.dataset.scale == "unit":
                length = clients.images.flatten(3).norm(dim=3)[..., None, None, None]
                clients = replace(clients, images=clients.images / length)
        clients = clients.to(torch.device(device))
        model = build_model(scenario.model, DATASETS["mnist"])
        model.module.to(device)
        workers = Workers(2) if device == "cpu" else None
        own = random_server_data(seeds).to(torch.device(device))
        test = random_server_data([0]).to(torch.device(device))  # the same for all seeds
        engine = Engine(model, clients, scenario.federation, workers, server_data=own, test_data=test)
        keys = Keys.of(seeds, device)
        everyone = torch.ones_like(clients.size, dtype=torch.bool) if available is None else available
        stop = Stop(None, 0, torch.full((len(seeds),), 8))
        segment = engine.run(engine.initial(keys), everyone, keys.fold("train"), stop, snapshot_every=1)
        return World(Lineage.of(engine, segment), seeds, scenario)

    @staticmethod
    def fit(
        method: Method, clients: Clients | None = None, seeds: range = range(3), available: Tensor | None = None
    ) -> World:
        """A new world that the method works in."""
        return World.make(clients, seeds, available, scenario=scenario_for(method))

    def answer(
        self, method: Method, forget: list[Tensor] | None = None, rounds: int = 4, later: Tensor | None = None
    ) -> list[Answer]:
        """The method's answers to all requests, `rounds` rounds of recovery each.

        `later`: the clients' images from the second request on.
        """
        engine = self.lineage.engine
        forget = forget if forget is not None else masks(engine.clients.num_clients, len(self.seeds))
        keys = Keys.of(self.seeds, engine.clients.images.device).fold("unlearn")
        stop = Stop(None, 0, torch.full((len(self.seeds),), rounds))
        answers, lineage = [], self.lineage
        for number, clients in enumerate(forget):
            if number == 1 and later is not None:
                lineage = replace(lineage, engine=replace(engine, clients=replace(engine.clients, images=later)))
            answer, lineage = answer_request(method, lineage, clients, self.scenario, lambda request: stop, keys)
            answers.append(answer)
        return answers

    def with_server_data(self, data: Clients | None) -> World:
        """The same past, other examples at the server from now on."""
        changed = replace(self.lineage.engine, server_data=data)
        return replace(self, lineage=replace(self.lineage, engine=changed))

    def with_images(self, images: Tensor) -> World:
        """The same past, other images from now on."""
        engine = self.lineage.engine
        changed = replace(engine, clients=replace(engine.clients, images=images))
        return replace(self, lineage=replace(self.lineage, engine=changed))
