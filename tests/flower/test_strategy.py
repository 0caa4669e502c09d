"""The strategy on a grid in memory: what is sent to whom, what is kept, what is refused, and what survives."""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.server.workflow import SecAggPlusWorkflow
from flwr.serverapp.strategy import FedAdam, FedAvg, FedAvgM, FedMedian, FedProx, FedYogi, QFedAvg

import sifu.flower
from sifu.config.certificate import Certificate
from sifu.config.federation import Federation
from sifu.errors import SifuError
from sifu.flower.__main__ import main
from sifu.flower.chain import Chain
from sifu.flower.identity import identify
from sifu.flower.models import Models
from sifu.flower.store import Store
from sifu.flower.strategy import Unlearning
from tests.flower.federation import World
from tests.flower.grid import MemoryGrid

pytestmark = pytest.mark.flower
WORLD = World(Federation(clients_per_round=3, local_steps=2, batch_size=4, client_lr=0.02))
CERTIFICATE = Certificate(sigma=0.02)
NODE = 100  # of client 0; client c is node 100 + c


def trained(tmp_path: Path, rounds: int = 4, **options: Any) -> tuple[Unlearning, MemoryGrid]:
    strategy, grid = WORLD.strategy(tmp_path / "store", CERTIFICATE, **({"spares": 2} | options)), WORLD.grid()
    strategy.start(grid, WORLD.initial, num_rounds=rounds)
    return strategy, grid


def weights(strategy: Unlearning) -> np.ndarray:
    return strategy.arrays.to_numpy_ndarrays()[0]


def test_the_package_offers_what_the_page_says() -> None:
    assert sifu.flower.Unlearning is Unlearning
    assert sifu.flower.Certificate is Certificate
    assert set(dir(sifu.flower)) >= {"Answer", "Unlearning", "identify"}


def test_forgotten_clients_get_no_message_any_more(tmp_path: Path) -> None:
    """Also under a new node id: then they are asked who they are, and nothing else."""
    strategy, grid = trained(tmp_path)
    assert {kind for node, kind in grid.sent if node == NODE + 1} >= {"query.sifu_identity"}
    strategy.strategy.fraction_evaluate, strategy.strategy.min_evaluate_nodes = 1.0, 1
    grid.sent.clear()
    strategy.forget(["1"], grid=grid, num_rounds=6)
    assert NODE + 1 not in {node for node, _ in grid.sent}
    assert {kind for _, kind in grid.sent} == {"train", "evaluate"}
    grid.nodes[555] = {"id": 1}
    del grid.nodes[NODE + 1]
    again = WORLD.strategy(tmp_path / "store", CERTIFICATE, spares=2)
    grid.sent.clear()
    again.forget(["2"], grid=grid, num_rounds=6)
    assert [kind for node, kind in grid.sent if node == 555] == ["query.sifu_identity"]
    assert strategy.answered == [("1",), ("2",)]


def test_late_replies_of_forgotten_clients_are_dropped(tmp_path: Path) -> None:
    strategy, grid = trained(tmp_path)
    strategy.forget(["1"], grid=grid, num_rounds=2)
    expected, (other, quiet) = weights(strategy), trained(tmp_path / "other")
    asked = Message(
        RecordDict({"arrays": WORLD.initial, "config": ConfigRecord({"server-round": 1})}), NODE + 1, "train"
    )
    metrics: dict[str, Any] = {"arrays": ArrayRecord([np.full(7850, 9.0, dtype=np.float32)])}
    metrics["metrics"] = MetricRecord({"num-examples": 1000})
    quiet.late.append(Message(RecordDict(metrics), reply_to=asked))
    other.forget(["1"], grid=quiet, num_rounds=2)
    np.testing.assert_array_equal(weights(other), expected)


def test_a_lost_client_is_left_out_of_its_round(tmp_path: Path) -> None:
    """A reply with an error: the average, its weights and Psi are those of the others."""
    strategy, grid = WORLD.strategy(tmp_path, CERTIFICATE, spares=2), WORLD.grid()
    grid.lost = lambda node, kind: node == NODE + 4 and kind == "train"
    strategy.start(grid, WORLD.initial, num_rounds=5)
    rounds = Store(tmp_path).history.branches[0].rounds
    asked = [past for past in rounds if "4" in past.asked]
    assert asked
    for past in asked:
        assert past.examples[past.place["4"]] == 0.0
    answer = strategy.forget(["4"], grid=grid, num_rounds=1)
    assert answer.certificate.psi == 0.0  # it never moved anything
    assert answer.cut == (0, 5)


def test_a_round_without_any_reply_is_one_sentence(tmp_path: Path) -> None:
    strategy, grid = WORLD.strategy(tmp_path, CERTIFICATE), WORLD.grid()
    grid.lost = lambda node, kind: kind == "train"
    with pytest.raises(SifuError, match="no client sent a model that could be averaged"):
        strategy.start(grid, WORLD.initial, num_rounds=2)


def test_models_on_disk_are_at_most_one_a_client(tmp_path: Path) -> None:
    """Next to the initial and the current one; the same model is kept once."""
    strategy, grid = trained(tmp_path, rounds=25)
    files = list((tmp_path / "store" / "models").iterdir())
    assert 3 <= len(files) <= len(WORLD.sizes) + 2
    strategy.forget(["1"], grid=grid, num_rounds=3)
    store = Store(tmp_path / "store")
    kept = {path.stem for path in (tmp_path / "store" / "models").iterdir()}
    dropped = {past.model for past in store.history.branches[0].rounds[store.history.branches[1].parent[1] :]}
    assert not kept & dropped  # models after the cut know the client


def test_a_training_goes_on_after_a_restart(tmp_path: Path) -> None:
    whole, _ = trained(tmp_path / "whole", rounds=6)
    trained(tmp_path / "parts", rounds=2)
    rounds: list[int] = []
    again, grid = WORLD.strategy(tmp_path / "parts" / "store", CERTIFICATE, spares=2), WORLD.grid(first=900)
    again.start(grid, WORLD.initial, num_rounds=6, evaluate_fn=lambda number, arrays: rounds.append(number))
    np.testing.assert_array_equal(weights(again), weights(whole))
    assert rounds == [2, 3, 4, 5, 6]


class Killed(BaseException):
    """Stands for a process that ends here."""


def killing(plain: Callable[..., Any], at: int, *, before: bool) -> Callable[..., Any]:
    """A function that ends the process before or after its call number `at`."""
    calls = count(1)

    def call(*arguments: Any, **fields: Any) -> Any:
        number = next(calls)
        if number == at and before:
            raise Killed
        done = plain(*arguments, **fields)
        if number == at:
            raise Killed
        return done

    return call


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("write", [(Chain, "append"), (Models, "write")], ids=["line", "model"])
def test_a_server_that_is_killed_at_any_write_of_a_request_loses_nothing(
    write: tuple[type, str], before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before or after each line of history and log, or each model: forget again, and the answer is the same."""
    whole, grid = trained(tmp_path)
    shutil.copytree(tmp_path / "store", tmp_path / "trained")
    expected, plain = whole.forget(["1"], grid=grid, num_rounds=2), getattr(*write)
    for at in range(1, 40):
        shutil.copytree(tmp_path / "trained", folder := tmp_path / str(at))
        strategy = WORLD.strategy(folder, CERTIFICATE, spares=2)
        monkeypatch.setattr(*write, killing(plain, at, before=before))
        try:
            strategy.forget(["1"], grid=grid, num_rounds=2)
            break  # there is no write that has not been tried
        except Killed:
            monkeypatch.setattr(*write, plain)
        if strategy.answered:  # killed right after the last line
            continue
        if strategy.open_request:
            with pytest.raises(SifuError, match=r"request 1 \(clients 1\) is not answered yet"):
                strategy.start(grid, WORLD.initial, num_rounds=9)
            with pytest.raises(SifuError, match="is not answered yet"):
                strategy.forget(["2"], grid=grid, num_rounds=2)
        again = WORLD.strategy(folder, CERTIFICATE, spares=2)
        answer = again.forget(["1"], grid=grid, num_rounds=2)
        np.testing.assert_array_equal(weights(again), weights(whole))
        assert (answer.cut, answer.certificate) == (expected.cut, expected.certificate)
    assert at > 3


def test_a_truncated_store_is_one_sentence(tmp_path: Path) -> None:
    trained(tmp_path)
    store = tmp_path / "store"
    current = Store(store).history.branches[0].rounds[-1].model
    file = store / "models" / f"{current}.safetensors"
    whole = file.read_bytes()
    again, grid = WORLD.strategy(store, CERTIFICATE, spares=2), WORLD.grid()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SifuError, match="is damaged: restore it from a copy"):
        again.forget(["1"], grid=grid, num_rounds=1)
    file.write_bytes(whole)
    history = (store / "history.jsonl").read_bytes()
    (store / "history.jsonl").write_bytes(history[:-30])  # cut off later: the model before the last round is deleted
    with pytest.raises(SifuError, match="is missing: restore it from a copy"):
        again.forget(["1"], grid=grid, num_rounds=1)
    (store / "history.jsonl").write_bytes(history.replace(b'"seats": 3', b'"seats": 2'))
    with pytest.raises(SifuError, match="is damaged or was changed"):
        again.forget(["1"], grid=grid, num_rounds=1)


@pytest.mark.parametrize("name", ["log.jsonl", "history.jsonl"])
def test_an_older_log_or_history_is_one_sentence(name: str, tmp_path: Path) -> None:
    """Else the next request would make no roll-back, or a forgotten client would be asked again."""
    strategy, grid = trained(tmp_path)
    file = tmp_path / "store" / name
    older = [file.read_bytes()] if file.exists() else []
    strategy.forget(["1"], grid=grid, num_rounds=1)
    older.append(file.read_bytes())
    strategy.forget(["2"], grid=grid, num_rounds=1)
    older.append(b"")
    for content in older:
        file.write_bytes(content)
        with pytest.raises(SifuError, match=f"{name} was cut off"):
            strategy.forget(["3"], grid=grid, num_rounds=1)


def test_models_after_the_cut_are_deleted_also_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between the branch's line and the deletion; then forget again, with no round of recovery left to do."""
    strategy, grid = trained(tmp_path, rounds=25)
    plain = Models.keep_only
    monkeypatch.setattr(Models, "keep_only", killing(plain, 1, before=True))
    with pytest.raises(Killed):
        strategy.forget(["1"], grid=grid, num_rounds=0)
    monkeypatch.setattr(Models, "keep_only", plain)
    strategy.forget(["1"], grid=grid, num_rounds=0)
    history = Store(tmp_path / "store").history
    dropped = {past.model for past in history.branches[0].rounds[history.branches[1].parent[1] :]}
    assert dropped
    assert not {path.stem for path in (tmp_path / "store" / "models").iterdir()} & dropped


def test_the_log_tells_an_auditor_what_was_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strategy, grid = trained(tmp_path)
    answer = strategy.forget(["1"], grid=grid, num_rounds=2)
    assert main([str(tmp_path / "store"), "--head", answer.log]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "request 1: forget 1" in printed[0]
    assert "claimed (published): epsilon 10, delta 0.01" in printed[1]
    assert f"answered after 2 rounds, model {answer.model}" in printed[2]
    assert printed[3] == f"whole: 3 lines, last {answer.log}"
    log = tmp_path / "store" / "log.jsonl"
    log.write_text(log.read_text().replace('"clients": ["1"]', '"clients": ["2"]'))
    assert main([str(tmp_path / "store")]) == 2
    assert "line 1 of" in capsys.readouterr().err


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


def test_the_order_of_the_arrays_in_a_reply_does_not_matter(tmp_path: Path) -> None:
    """A model of two arrays of one shape; every other client sends them in the other order. Psi is the same."""

    def app(turned: int) -> ClientApp:
        found = ClientApp()
        identify(found, lambda context: (str(context.node_config["id"]), 5))

        @found.train()
        def train(message: Message, context: Context) -> Message:
            number = int(context.node_config["id"])
            parts = {name: part.numpy() for name, part in message.content["arrays"].items()}
            new = {"b": Array(parts["b"] - number), "a": Array(parts["a"] + 10 + number)}
            order = ("a", "b") if number % 2 < turned else ("b", "a")
            records: dict[str, Any] = {"arrays": ArrayRecord({name: new[name] for name in order})}
            records["metrics"] = MetricRecord({"num-examples": 5})
            return Message(RecordDict(records), reply_to=message)

        return found

    found = []
    for turned in (0, 1, 2):
        strategy, grid = WORLD.strategy(tmp_path / str(turned), CERTIFICATE, spares=2), WORLD.grid()
        grid.app = app(turned)
        strategy.start(grid, ArrayRecord({"b": Array(np.zeros(3)), "a": Array(np.zeros(3))}), num_rounds=2)
        assert list(strategy.arrays) == ["b", "a"]
        found.append(strategy.psi)
    assert found[0] == found[1] == found[2]
    assert max(found[0].values()) > 0


def test_nodes_that_stay_silent_are_given_up(tmp_path: Path) -> None:
    """Each is asked three times and no more; where the others are too few, one sentence says so."""
    strategy, grid = WORLD.strategy(tmp_path, CERTIFICATE, spares=2, identity_at_once=2), WORLD.grid()
    grid.silent = {NODE + 1: "nothing", NODE + 2: "the SuperLink says that it is gone"}
    strategy.start(grid, WORLD.initial, num_rounds=4)
    assert set(strategy.psi) == {"0", "3", "4", "5", "6"}
    asked = Counter(node for node, kind in grid.sent if kind == "query.sifu_identity")
    assert asked[NODE + 1] == asked[NODE + 2] == 3
    assert {ttl for kind, ttl in grid.ttl if kind == "query.sifu_identity"} == {60.0}
    few, other = WORLD.strategy(tmp_path / "few", CERTIFICATE), WORLD.grid()
    other.silent = {NODE + client: "nothing" for client in range(5)}
    with pytest.raises(SifuError, match="2 nodes say who they are, 5 do not, and 3 clients are needed"):
        few.start(other, WORLD.initial, num_rounds=1)


def test_questions_are_asked_a_few_at_a_time(tmp_path: Path) -> None:
    strategy, grid = WORLD.strategy(tmp_path, CERTIFICATE, identity_at_once=3), WORLD.grid()
    strategy.start(grid, WORLD.initial, num_rounds=1)
    assert grid.at_once[:3] == [3, 3, 1]
    with pytest.raises(SifuError, match="identity_at_once: 0 is refused"):
        WORLD.strategy(tmp_path, CERTIFICATE, identity_at_once=0)


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
