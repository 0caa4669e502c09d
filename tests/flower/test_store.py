"""The strategy's store: what it keeps, what survives a kill, and damage that is noticed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sifu.errors import SifuError
from sifu.flower.__main__ import main
from sifu.flower.chain import Chain
from sifu.flower.models import Models
from sifu.flower.store import Store
from tests.flower.trained import CERTIFICATE, WORLD, trained, weights

pytestmark = pytest.mark.flower


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
