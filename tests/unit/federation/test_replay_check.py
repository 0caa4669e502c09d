"""Replayed rounds are compared with the recorded ones, several at a time."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.errors import StoreError
from sifu.federation.replay_check import ReplayCheck
from sifu.federation.stop import Stop
from tests.conftest import tiny_engine


def a_round(length: float) -> tuple[Tensor, Tensor]:
    """One seed with two clients, the second of which moves by `length`."""
    return torch.zeros(1, 4), torch.tensor([[[1.0, 0, 0, 0], [0, length, 0, 0]]])


def test_a_wrong_round_is_found_with_the_others_of_its_group() -> None:
    """Groups of three: the second round is wrong, and the third one's comparison finds it."""
    check, recorded = ReplayCheck(rounds=3), torch.tensor([[1.0, 2.0]])
    check.add(*a_round(2.0), recorded)
    check.add(*a_round(2.5), recorded)
    with pytest.raises(StoreError, match="its rounds differ on replay"):
        check.add(*a_round(2.0), recorded)


def test_the_last_rounds_are_compared_at_the_end() -> None:
    check, recorded = ReplayCheck(rounds=3), torch.tensor([[1.0, 2.0]])
    for length in (2.0, 2.001, 2.0, 2.5):
        check.add(*a_round(length), recorded)
    with pytest.raises(StoreError, match="its rounds differ on replay"):
        check.finish()
    check.finish()  # nothing is left


def test_rounds_of_different_sizes_and_rounds_that_are_no_numbers() -> None:
    check = ReplayCheck()
    check.add(*a_round(2.0), torch.tensor([[1.0, 2.0]]))
    check.add(torch.zeros(0, 4), torch.zeros(0, 2, 4), torch.zeros(0, 2))  # no seed took part
    check.add(torch.zeros(2, 4), torch.ones(2, 1, 4), torch.full((2, 1), 2.0))
    check.finish()
    check.add(*a_round(torch.nan), torch.tensor([[1.0, 2.0]]))
    with pytest.raises(StoreError):
        check.finish()


def test_another_cohort_is_found_though_its_clients_move_as_far() -> None:
    check = ReplayCheck()
    check.add(*a_round(2.0), torch.tensor([[1.0, 2.0]]), torch.tensor(True))
    check.finish()
    check.add(*a_round(2.0), torch.tensor([[1.0, 2.0]]), torch.tensor(False))
    with pytest.raises(StoreError, match="its rounds differ on replay"):
        check.finish()


@pytest.mark.parametrize("count", [1, 3])
def test_a_history_with_other_cohort_sizes_is_refused(count: int) -> None:
    """Two clients a round were recorded."""
    engine, keys = tiny_engine(clients_per_round=2), Keys.of(range(2))
    everyone = torch.ones(2, engine.clients.num_clients, dtype=torch.bool)
    segment = engine.run(engine.model.init(keys), everyone, keys, Stop(None, 0, torch.full((2,), 2)))
    with pytest.raises(StoreError, match="its rounds differ on replay"):
        tiny_engine(clients_per_round=count).replay(segment, segment.rounds)
