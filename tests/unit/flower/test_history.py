"""Branches, clients that come and go, and which models are worth keeping."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from sifu.certificate.rules import PRESETS
from sifu.errors import StoreError
from sifu.flower.audit import verify
from sifu.flower.chain import Chain
from sifu.flower.checkpoints import Checkpoints
from sifu.flower.history import History
from sifu.flower.past_round import PastRound, packed
from sifu.flower.store import HISTORY, LOG, Store, opened

LIMIT = 0.5


def moved(*lengths: float, model: str, known: int = 3) -> PastRound:
    """A round of clients a, b, c with one example each; Delta of a client alone is half its distance."""
    return PastRound(
        asked=("a", "b", "c"),
        seats=3,
        examples=(1.0, 1.0, 1.0),
        distance=lengths,
        step=1.0,
        products=packed(np.eye(3)),
        total=3.0,
        declared={},
        count=3,
        known=known,
        absent=(),
        share=None,
        least=0,
        model=model,
    )


def history(tmp_path: Path) -> History:
    """Four rounds: a may go back to round 1, b to round 3, c to the end."""
    found = History(Chain(tmp_path / HISTORY))
    found.begin("start", seed=0)
    for number, client in enumerate("abc"):
        found.join(number, client, 1.0)
    for number in range(1, 5):
        found.add_round(moved(0.6, 0.3, 0.1, model=f"m{number}"))
    return found


def test_psi_adds_up_along_the_lineage_and_is_read_again(tmp_path: Path) -> None:
    """Delta_a = (1 / 3) / (2 / 3) 0.6 = 0.3 a round; a branch goes on from the node that it grew from."""
    found = history(tmp_path)
    psi = found.psi({"a", "b"}, PRESETS["published"], 1.0, math.inf)
    assert list(psi.values()) == pytest.approx([0.0, 0.3, 0.6, 0.9, 1.2])
    found.grow((0, 1), ["a"], "noisy", "log")
    found.add_round(moved(0.0, 0.4, 0.2, model="n1"))
    again = History(Chain(tmp_path / HISTORY))
    for one in (found, again):
        assert one.nodes() == [(0, 0), (0, 1), (1, 0), (1, 1)]
        psi = one.psi({"b"}, PRESETS["published"], 1.0, math.inf)
        assert list(psi.values()) == pytest.approx([0.0, 0.15, 0.15, 0.35])
        assert one.remaining == {"b", "c"}
        assert one.depth() == 2


def test_each_client_keeps_its_own_last_usable_model(tmp_path: Path) -> None:
    found = history(tmp_path)
    checkpoints = Checkpoints(found, PRESETS["published"], 1.0, math.inf, LIMIT)
    checkpoints.start_again({"start", "m1", "m3", "m4"})
    assert checkpoints.last == {"a": (0, 1), "b": (0, 3), "c": (0, 4)}
    assert checkpoints.wanted() == {"start", "m1", "m3", "m4"}
    assert checkpoints.usable(found.psi({"b"}, PRESETS["published"], 1.0, math.inf), {"start", "m1"}) == (0, 1)
    found.grow((0, 1), ["a"], "noisy", "log")  # b and c go on from the cut
    checkpoints.start_again({"start", "m1", "noisy"})
    assert checkpoints.last == {"b": (1, 0), "c": (1, 0)}
    assert checkpoints.wanted() == {"start", "noisy"}


def test_a_client_that_joins_later_was_not_there_before(tmp_path: Path) -> None:
    found = history(tmp_path)
    found.join(9, "d", 1.0)
    assert found.connected((0, 0), {"a", "d"}) == {"a"}
    assert found.psi({"d"}, PRESETS["published"], 1.0, math.inf)[found.end] == 0.0


def test_a_client_that_comes_back_with_another_size_changes_no_past_round(tmp_path: Path) -> None:
    """Its 1 of 3 examples still counts in `1 - v`: Delta_a = 0.3, whatever it says later."""
    found = history(tmp_path)
    before = found.psi({"a"}, PRESETS["published"], 1.0, math.inf)
    found.join(9, "a", 2.9)
    assert found.psi({"a"}, PRESETS["published"], 1.0, math.inf) == before


def test_a_store_has_one_server_at_a_time(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(StoreError, match="training is under way in"), opened(tmp_path):
        pass
    with opened(tmp_path):
        pass


def test_logs_and_histories_that_were_cut_off_are_noticed(tmp_path: Path) -> None:
    found, log = history(tmp_path), Chain(tmp_path / LOG)
    asked = log.append("request", request=1, clients=["a"], history=found.chain.head, time="now")
    done = log.append("roll back", request=1, cut=[0, 1], time="now")
    found.grow((0, 1), ["a"], "noisy", done.digest)
    assert verify(tmp_path, head=asked.digest)[0].head == done.digest
    lines = (tmp_path / LOG).read_text().splitlines(keepends=True)
    (tmp_path / LOG).write_text(lines[0])
    with pytest.raises(StoreError, match="was cut off: the history names a roll-back"):
        verify(tmp_path)
    with pytest.raises(StoreError, match="does not have the line"):
        verify(tmp_path, head=done.digest)
    (tmp_path / LOG).write_text("".join(lines))
    whole = (tmp_path / HISTORY).read_text().splitlines(keepends=True)
    (tmp_path / HISTORY).write_text("".join(whole[:4]))
    with pytest.raises(StoreError, match="the log names a line that it does not have"):
        verify(tmp_path)
    (tmp_path / HISTORY).unlink()
    with pytest.raises(StoreError, match="is missing"):
        verify(tmp_path)
    with pytest.raises(StoreError, match=r"history.jsonl was cut off: .* restore it"):
        Store(tmp_path).check()


def test_a_log_of_another_number_of_requests_is_noticed(tmp_path: Path) -> None:
    """Two requests and no branch, or an answer without one: no kill between two writes leaves that."""
    found, log = history(tmp_path), Chain(tmp_path / LOG)
    log.append("request", request=1, clients=["a"], history=found.chain.head, time="now")
    Store(tmp_path).check_lines()  # killed before it went back
    once = (tmp_path / LOG).read_text()
    log.append("request", request=2, clients=["b"], history=found.chain.head, time="now")
    with pytest.raises(StoreError, match="there are 2 requests and 0 branches"):
        Store(tmp_path).check_lines()
    (tmp_path / LOG).write_text(once)
    Chain(tmp_path / LOG).append("answer", request=1, clients=["a"], history=found.chain.head, time="now")
    with pytest.raises(StoreError, match="there are 1 requests and 0 branches"):
        Store(tmp_path).check_lines()
