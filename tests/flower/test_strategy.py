"""The strategy on a grid in memory: what is sent to whom, and what is averaged."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

import sifu.flower
from sifu.config.certificate import Certificate
from sifu.errors import SifuError
from sifu.flower.identity import identify
from sifu.flower.store import Store
from sifu.flower.strategy import Unlearning
from tests.flower.trained import CERTIFICATE, NODE, WORLD, trained, weights

pytestmark = pytest.mark.flower


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
