"""The suite's tiny federation as a Flower app: the same data, model, cohorts and batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg

from sifu.catalog.datasets import DATASETS
from sifu.config.certificate import Certificate
from sifu.config.federation import Federation
from sifu.config.scenario import Scenario
from sifu.contract.world import SCENARIO
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.federation.engine import Engine
from sifu.flower.identity import identify
from sifu.flower.sampling import branch_keys
from sifu.flower.strategy import BRANCH, ROUND, Unlearning
from sifu.hardware.workers import Workers
from sifu.models.flat import build_model
from tests.conftest import tiny_clients
from tests.flower.grid import MemoryGrid, be_server
from tests.reference import client_batches, load_flat, train_client
from tests.reference import flat as flat_module

SIZES = (8, 5, 6, 8, 7, 4, 8)
SEED = 3


@dataclass(frozen=True)
class World:
    """A federation that can be trained by the engine and by Flower."""

    federation: Federation
    sizes: tuple[int, ...] = SIZES

    @property
    def clients(self) -> Clients:
        return tiny_clients("logistic", seeds=1, sizes=self.sizes)

    @property
    def engine(self) -> Engine:
        return Engine(build_model("logistic", DATASETS["mnist"]), self.clients, self.federation, Workers(1))

    @property
    def scenario(self) -> Scenario:
        partition = replace(SCENARIO.partition, num_clients=len(self.sizes))
        return replace(SCENARIO, federation=self.federation, partition=partition)

    @property
    def start(self) -> torch.Tensor:
        return self.engine.initial(Keys.of([SEED]))  # [1, P]

    def app(self) -> ClientApp:
        """Clients that train as the suite's plain loop does."""
        app, clients, module = ClientApp(), self.clients, self.engine.model.module
        identify(app, lambda context: (str(context.node_config["id"]), self.sizes[int(context.node_config["id"])]))

        @app.train()
        def train(message: Message, context: Context) -> Message:
            client, config = int(context.node_config["id"]), message.content["config"]
            size, keys = self.sizes[client], branch_keys(SEED, int(config[BRANCH])).rows(0)
            weights = torch.from_numpy(message.content["arrays"].to_numpy_ndarrays()[0].copy())
            batches = client_batches(keys, int(config[ROUND]), client, size, self.federation)
            data = clients.images[0, client, :size], clients.labels[0, client, :size]
            local = train_client(load_flat(module, weights), *data, batches, self.federation)
            arrays = ArrayRecord([flat_module(local).numpy()])
            records: dict[str, Any] = {"arrays": arrays, "metrics": MetricRecord({"num-examples": size})}
            return Message(RecordDict(records), reply_to=message)

        @app.evaluate()
        def evaluate(message: Message, context: Context) -> Message:
            records: dict[str, Any] = {"metrics": MetricRecord({"num-examples": 1, "loss": 0.5})}
            return Message(RecordDict(records), reply_to=message)

        return app

    def grid(self, first: int = 100) -> MemoryGrid:
        be_server()
        return MemoryGrid(self.app(), {first + client: {"id": client} for client in range(len(self.sizes))})

    @property
    def initial(self) -> ArrayRecord:
        return ArrayRecord([self.start[0].numpy().copy()])

    def strategy(self, store: Path, certificate: Certificate, **options: Any) -> Unlearning:
        """FedAvg with the federation's number of clients a round."""
        everyone, m = self.federation.clients_per_round >= len(self.sizes), self.federation.clients_per_round
        seats: dict[str, Any] = {"fraction_train": 1.0 if everyone else 1e-9, "min_train_nodes": 1 if everyone else m}
        inner = FedAvg(**seats, fraction_evaluate=0.0, min_available_nodes=1)
        usual: dict[str, Any] = {"seed": SEED, "noise_seed": SEED, "local_steps": self.federation.local_steps}
        return Unlearning(inner, certificate=certificate, store=store, **(usual | options))
