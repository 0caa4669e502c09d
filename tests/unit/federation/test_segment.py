"""The model of any round is restored exactly from sparse snapshots."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.errors import StoreError
from sifu.federation.engine import Engine
from sifu.federation.segment import Segment
from sifu.federation.stop import Stop
from tests.conftest import tiny_clients, tiny_engine

ROUNDS = (7, 4)  # of the two seeds


def trained(name: str, snapshot_every: int = 3) -> tuple[Engine, Segment, Tensor]:
    """A segment, and the weights of every seed after every round, kept during training."""
    engine = tiny_engine(name)
    keys = Keys.of(range(2))
    everyone = torch.ones_like(engine.clients.size, dtype=torch.bool)
    start = engine.model.init(keys)
    stop = Stop(None, 0, torch.tensor(ROUNDS))
    segment = engine.run(start, everyone, keys.fold("train"), stop, snapshot_every=snapshot_every)
    kept = engine.run(start, everyone, keys.fold("train"), stop, snapshot_every=1)
    return engine, segment, torch.cat([start.unsqueeze(1), kept.snapshots], dim=1)


@pytest.mark.parametrize("name", ["logistic", "cnn28"])
def test_replay_is_exact_at_every_round(name: str) -> None:
    engine, segment, saved = trained(name)
    for first in range(ROUNDS[0] + 1):
        second = min(first, ROUNDS[1])
        weights = engine.replay(segment, torch.tensor([first, second]))
        assert torch.equal(weights[0], saved[0, first])
        assert torch.equal(weights[1], saved[1, second])
    assert torch.equal(engine.replay(segment, torch.tensor(ROUNDS)), segment.final)


def test_seeds_go_back_to_different_rounds_at_once() -> None:
    engine, segment, saved = trained("logistic")
    weights = engine.replay(segment, torch.tensor([5, 1]))
    assert torch.equal(weights, torch.stack([saved[0, 5], saved[1, 1]]))


def test_client_updates_of_any_round_are_restored() -> None:
    engine, segment, saved = trained("logistic")
    for number in range(ROUNDS[1]):
        rounds = torch.tensor([number, number])
        result = engine.updates(segment, rounds)
        assert torch.equal(result.cohort, segment.trace.cohort[:, number])
        assert torch.equal(result.weights, saved[:, number + 1])
        update = result.local - saved[:, number].unsqueeze(1)
        assert torch.equal(engine.model.layer_norms(update), segment.trace.layer_norm[:, number])
        distance = (result.weights.unsqueeze(1) - result.local).norm(dim=-1)
        assert torch.equal(distance, segment.trace.distance[:, number])
        torch.testing.assert_close(update.norm(dim=-1), segment.trace.update_norm[:, number])


def test_all_rounds_of_a_history_can_be_replayed() -> None:
    engine, segment, saved = trained("logistic")
    seen = [(number, rows.tolist()) for number, rows, *_ in engine.walk(segment)]
    assert seen == [(n, [0, 1] if n < ROUNDS[1] else [0]) for n in range(ROUNDS[0])]
    for number, rows, _, result in engine.walk(segment):
        assert torch.equal(result.weights, saved[rows, number + 1])


def test_snapshots_are_sparse() -> None:
    _, segment, _ = trained("logistic", snapshot_every=3)
    assert segment.snapshots.shape[:2] == (2, 2)  # after rounds 3 and 6
    _, segment, _ = trained("logistic", snapshot_every=100)
    assert segment.snapshots.shape[:2] == (2, 0)


def test_a_round_that_did_not_happen_is_refused() -> None:
    engine, segment, _ = trained("logistic")
    for rounds in ([8, 0], [0, 5], [-1, 0]):
        with pytest.raises(StoreError, match="is not in a history of"):
            engine.replay(segment, torch.tensor(rounds))


def test_replay_with_other_keys_is_noticed() -> None:
    engine, segment, _ = trained("logistic")
    with pytest.raises(StoreError, match="its rounds differ"):
        engine.replay(replace(segment, key_state=segment.key_state + 1), torch.tensor([2, 2]))


def test_replay_with_other_data_is_noticed() -> None:
    engine, segment, _ = trained("logistic")
    other = replace(engine, clients=replace(engine.clients, images=engine.clients.images + 0.5))
    with pytest.raises(StoreError, match="its rounds differ"):
        other.replay(segment, torch.tensor([2, 2]))


def test_updates_of_a_round_that_did_not_happen_are_refused() -> None:
    engine, segment, _ = trained("logistic")
    with pytest.raises(StoreError, match=r"there is no round \[3, 4\]"):
        engine.updates(segment, torch.tensor([3, 4]))


def test_replay_of_a_run_without_some_clients() -> None:
    engine = tiny_engine(clients=tiny_clients(seeds=1))
    keys, available = Keys.of([0]), torch.tensor([[True, False, True, True]])
    segment = engine.run(engine.model.init(keys), available, keys.fold("x"), Stop(None, 0, torch.tensor([5])))
    assert torch.equal(engine.replay(segment, torch.tensor([5])), segment.final)
