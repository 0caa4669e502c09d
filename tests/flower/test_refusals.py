"""What the strategy refuses: requests, other strategies, models, certificates and clients, in one sentence each."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message
from flwr.clientapp import ClientApp
from flwr.server.workflow import SecAggPlusWorkflow
from flwr.serverapp.strategy import FedAdam, FedAvg, FedAvgM, FedMedian, FedProx, FedYogi, QFedAvg

from sifu.config.certificate import Certificate
from sifu.errors import SifuError
from sifu.flower.strategy import Unlearning
from tests.flower.trained import CERTIFICATE, WORLD, trained

pytestmark = pytest.mark.flower


def test_a_request_while_training_is_under_way_is_refused(tmp_path: Path) -> None:
    strategy, grid = trained(tmp_path)
    said: list[str] = []

    def ask(number: int, arrays: ArrayRecord) -> None:
        def request() -> None:
            with pytest.raises(SifuError) as refused:
                WORLD.strategy(tmp_path / "store", CERTIFICATE).forget(["1"], grid=grid, num_rounds=1)
            said.append(str(refused.value))

        thread = threading.Thread(target=request)
        thread.start()
        thread.join()

    strategy.start(grid, WORLD.initial, num_rounds=5, evaluate_fn=ask)
    assert said
    assert all("training is under way in" in sentence for sentence in said)
    strategy.forget(["1"], grid=grid, num_rounds=1)


@pytest.mark.parametrize(
    ("clients", "sentence"),
    [
        (["client-1"], "client client-1 is unknown"),
        ([], "a request is empty"),
        (["1", "1"], "names a client twice"),
        (["0", "1", "2", "3", "4"], "the request leaves 2 clients, and 3 are needed"),
    ],
)
def test_requests_that_make_no_sense_are_refused(clients: list[str], sentence: str, tmp_path: Path) -> None:
    strategy, grid = trained(tmp_path, rounds=1)
    with pytest.raises(SifuError, match=sentence):
        strategy.forget(clients, grid=grid, num_rounds=1)
    assert not (tmp_path / "store" / "log.jsonl").exists()


def test_a_client_is_forgotten_once(tmp_path: Path) -> None:
    strategy, grid = trained(tmp_path, rounds=1)
    with pytest.raises(SifuError, match="nothing was trained in this store"):
        WORLD.strategy(tmp_path / "empty", CERTIFICATE).forget(["1"], grid=grid, num_rounds=1)
    strategy.forget("1", grid=grid, num_rounds=1)
    with pytest.raises(SifuError, match="client 1 was forgotten by an earlier request"):
        strategy.forget(["1"], grid=grid, num_rounds=1)


@pytest.mark.parametrize(
    ("strategy", "sentence"),
    [
        (FedAdam(), "FedAdam adapts the server's steps"),
        (FedYogi(), "FedYogi adapts the server's steps"),
        (FedAvgM(), "FedAvgM has a momentum at the server"),
        (FedMedian(), "FedMedian takes a median"),
        (QFedAvg(client_learning_rate=0.1), "QFedAvg weights clients by their loss"),
        (SecAggPlusWorkflow(3, 2), "SecAggPlusWorkflow is secure aggregation, which hides what each client sent"),
        (object(), "object is no strategy of flwr.serverapp.strategy"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_strategies_that_do_not_average_are_refused(strategy: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(SifuError, match=sentence):
        Unlearning(strategy, certificate=CERTIFICATE, store=tmp_path)


def test_an_average_of_another_kind_is_noticed(tmp_path: Path) -> None:
    class Doubled(FedAvg):
        def aggregate_train(self, server_round: int, replies: Any) -> Any:
            arrays, metrics = super().aggregate_train(server_round, replies)
            return ArrayRecord({name: Array(2 * part.numpy()) for name, part in arrays.items()}), metrics

    usual = {"fraction_evaluate": 0.0, "min_train_nodes": 3}
    strategy = Unlearning(Doubled(**usual), certificate=CERTIFICATE, store=tmp_path)
    with pytest.raises(SifuError, match="Doubled does not average what clients send"):
        strategy.start(WORLD.grid(), ArrayRecord([np.ones(7850, dtype=np.float32)]), num_rounds=1)
    prox = Unlearning(FedProx(proximal_mu=0.1, **usual), certificate=CERTIFICATE, store=tmp_path / "prox")
    prox.start(WORLD.grid(), WORLD.initial, num_rounds=1)


def test_other_input_is_refused(tmp_path: Path) -> None:
    grid, strategy = WORLD.grid(), WORLD.strategy(tmp_path / "store", CERTIFICATE)
    counted = ArrayRecord({"weight": Array(np.ones(3)), "batches": Array(np.array(7))})
    with pytest.raises(SifuError, match="array batches of the model holds int64 numbers, which noise cannot hide"):
        strategy.start(grid, counted, num_rounds=1)
    strategy.start(grid, WORLD.initial, num_rounds=1)
    with pytest.raises(SifuError, match=r"the initial model has arrays 0 \[3\], not 0 \[7850\] as the store"):
        strategy.start(grid, ArrayRecord([np.ones(3)]), num_rounds=2)
    for branches in ({}, {"branches": "accumulate"}):
        with pytest.raises(SifuError, match=r"certificate.preset: 'released' is refused"):
            WORLD.strategy(tmp_path, Certificate(sigma=0.1, preset="released", **branches))
    with pytest.raises(SifuError, match=r"certificate.branches: 'reset' is refused"):
        WORLD.strategy(tmp_path, Certificate(sigma=0.1, branches="reset"))
    with pytest.raises(SifuError, match="local_steps: None is refused"):
        WORLD.strategy(tmp_path, Certificate(sigma=0.1, contraction=0.9), local_steps=None)
    with pytest.raises(SifuError, match=r"certificate: 0.1 is refused"):
        WORLD.strategy(tmp_path, 0.1)  # type: ignore[arg-type]


def test_clients_that_do_not_say_who_they_are(tmp_path: Path) -> None:
    grid = WORLD.grid()
    grid.app = ClientApp()
    with pytest.raises(SifuError, match=r"no node says who it is: add `sifu.flower.identify"):
        WORLD.strategy(tmp_path, CERTIFICATE).start(grid, WORLD.initial, num_rounds=1)


def test_secure_aggregation_at_a_client_is_refused(tmp_path: Path) -> None:
    grid = WORLD.grid()
    plain = grid._answer

    def masked(message: Message) -> Message:
        reply = plain(message)
        if message.metadata.message_type == "train":
            reply.content["secaggplus_state"] = ConfigRecord({})
        return reply

    grid._answer = masked  # type: ignore[method-assign]
    with pytest.raises(SifuError, match="a client uses secure aggregation"):
        WORLD.strategy(tmp_path, CERTIFICATE).start(grid, WORLD.initial, num_rounds=1)
