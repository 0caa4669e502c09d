"""An interrupted training resumes to the same bits; a stale or damaged checkpoint is ignored."""

from __future__ import annotations

import contextlib
import time
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from sifu.core.keys import Keys
from sifu.errors import StoreError
from sifu.federation import checkpoint
from sifu.federation.checkpoint import Checkpoints
from sifu.federation.engine import Engine
from sifu.federation.segment import Segment
from sifu.federation.stop import Stop
from sifu.federation.training import Training
from sifu.store.tensors import read_tensors, write_tensors
from tests.conftest import tiny_clients, tiny_engine


class Killed(Exception):
    """Stands for a kill, in the same process as the test."""


STOPS = {
    "rounds": Stop(None, 0, torch.tensor([9, 6])),
    "target": Stop(0.4, 3, torch.tensor([40, 40])),
    "never": Stop(2.0, 0, torch.tensor([7, 12])),
}


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint after every round."""
    monkeypatch.setattr(checkpoint, "_WRITING_SHARE", 0)


def train(engine: Engine, stop: Stop, *, poison: bool = False, **options: object) -> Segment:
    keys = Keys.of(range(2))
    start = engine.model.init(keys)
    if poison:
        start[0] *= 1e37  # the first seed diverges
    everyone = torch.ones_like(engine.clients.size, dtype=torch.bool)
    return engine.run(start, everyone, keys.fold("train"), stop, snapshot_every=4, **options)  # type: ignore[arg-type]


def interrupted(engine: Engine, stop: Stop, rounds: int, **options: bool) -> int:
    """Train until the process "dies" in round `rounds` (0: the first). The number of rounds that were started."""
    begun = 0
    train_round = Training._train

    def dies(self: Training) -> None:
        nonlocal begun
        if begun >= rounds:
            raise Killed
        begun += 1
        train_round(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "_train", dies)
        with contextlib.suppress(Killed):
            train(engine, stop, **options)
    return begun


def same(first: Segment, second: Segment) -> bool:
    parts = [(getattr(first, f.name), getattr(second, f.name)) for f in fields(Segment) if f.name != "trace"]
    parts += list(zip(vars(first.trace).values(), vars(second.trace).values(), strict=True))
    return all(torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in parts)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize(
    "change",
    [{}, pytest.param({"sampling": "poisson"}, marks=pytest.mark.long)],
    ids=["fixed", "poisson"],
)
def test_the_same_bits_wherever_it_is_interrupted(tmp_path: Path, stop: str, change: dict[str, object]) -> None:
    plain = tiny_engine(**change)
    complete = train(plain, STOPS[stop])
    total = int(complete.rounds.max())
    for rounds in range(1, total, 1 if total < 15 else 5):
        kept = Checkpoints(tmp_path / str(rounds), "code", 0.0)
        engine = replace(plain, checkpoints=kept)
        assert interrupted(engine, STOPS[stop], rounds) == rounds
        remaining = interrupted(engine, STOPS[stop], 10**6)
        assert remaining < total, "it resumed"
        again = train(replace(plain, checkpoints=Checkpoints(tmp_path / str(rounds), "code", 60.0)), STOPS[stop])
        assert same(again, complete), f"interrupted after {rounds} rounds"


@pytest.mark.usefixtures("eager")
def test_seeds_that_diverge_stay_so(tmp_path: Path) -> None:
    clients = tiny_clients()
    clients.images[1] *= 1e30
    plain = tiny_engine(clients=clients)
    complete = train(plain, STOPS["rounds"])
    assert complete.status == ("done", "diverged")
    for rounds in range(1, 9):
        engine = replace(plain, checkpoints=Checkpoints(tmp_path / str(rounds), "code", 0.0))
        interrupted(engine, STOPS["rounds"], rounds)
        assert same(train(engine, STOPS["rounds"]), complete)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("stop", STOPS)
def test_where_rounds_run_ahead_of_evaluations(tmp_path: Path, stop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: finished seeds stay in the batch for a while."""
    monkeypatch.setattr("sifu.federation.training.runs_ahead", lambda device: True)
    plain = replace(tiny_engine(), workers=None)
    complete = train(plain, STOPS[stop])
    for rounds in range(1, int(complete.rounds.max()), 3):
        engine = replace(plain, checkpoints=Checkpoints(tmp_path / str(rounds), "code", 0.0))
        interrupted(engine, STOPS[stop], rounds)
        assert same(train(engine, STOPS[stop]), complete)


@pytest.mark.usefixtures("eager")
def test_a_finished_training_is_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = replace(tiny_engine(), checkpoints=Checkpoints(tmp_path, "code", 0.0))
    complete = train(engine, STOPS["rounds"])
    capsys.readouterr()
    assert interrupted(engine, STOPS["rounds"], 10**6) == 0
    assert capsys.readouterr().err == "resumes after 9 rounds\n"
    assert same(train(engine, STOPS["rounds"]), complete)


@pytest.mark.usefixtures("eager")
def test_a_stale_checkpoint_is_not_used(tmp_path: Path) -> None:
    """Other code or settings, federation, stop rule, data or seeds: start from the first round."""
    plain, stop = tiny_engine(), STOPS["rounds"]
    train(replace(plain, checkpoints=Checkpoints(tmp_path, "code", 0.0)), stop)
    assert len(list(tmp_path.iterdir())) == 1
    kept = Checkpoints(tmp_path, "code", 60.0)
    clients = tiny_clients()
    clients.images[1, 2, 0, 0, 3, 3] += 1e-3
    others = [
        (replace(plain, checkpoints=Checkpoints(tmp_path, "other code", 60.0)), stop),
        (replace(tiny_engine(client_lr=0.06), checkpoints=kept), stop),
        (replace(plain, checkpoints=kept), replace(stop, max_rounds=torch.tensor([9, 5]))),
        (replace(tiny_engine(clients=clients), checkpoints=kept), stop),
    ]
    assert [interrupted(engine, rule, 10**6) for engine, rule in others] == [9] * len(others)
    assert interrupted(others[1][0], stop, 10**6, poison=True) > 0


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_checkpoint_is_ignored(tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    engine = replace(tiny_engine(), checkpoints=Checkpoints(tmp_path, "code", 0.0))
    complete = train(engine, STOPS["rounds"])
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(content[:-100] if damage == "cut" else content)
    assert same(train(engine, STOPS["rounds"]), complete)
    assert "a checkpoint is ignored: " in capsys.readouterr().err


@pytest.mark.usefixtures("eager")
def test_a_full_disk_does_not_end_a_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "write_state", full)
    plain = tiny_engine()
    engine = replace(plain, checkpoints=Checkpoints(tmp_path, "code", 0.0))
    assert same(train(engine, STOPS["rounds"]), train(plain, STOPS["rounds"]))
    assert capsys.readouterr().err.count("a checkpoint could not be written, the training continues: ") == 1


def test_writing_takes_a_hundredth_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []

    def slow(path: Path, _: object) -> None:
        written.append(path)
        time.sleep(0.05)

    monkeypatch.setattr(checkpoint, "write_state", slow)
    kept = Checkpoints(tmp_path, "code", 0.0)
    train(replace(tiny_engine(), checkpoints=kept), STOPS["rounds"])
    assert len(written) == 1
    assert kept.due > time.monotonic() + 4


def test_short_trainings_are_written_together(tmp_path: Path) -> None:
    """None of them is as long as the interval, and yet none is repeated."""
    kept = Checkpoints(tmp_path, "code", 60.0)
    engine = replace(tiny_engine(), checkpoints=kept)
    for rounds in (3, 4, 5):
        train(engine, Stop(None, 0, torch.tensor([rounds, rounds])))
    assert list(tmp_path.iterdir()) == []
    kept.due = time.monotonic()
    interrupted(engine, STOPS["rounds"], 2)
    assert len(list(tmp_path.iterdir())) == 4
    kept.clear()
    assert not tmp_path.exists()


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("change", ["no number", "no tensor", "another shape", "no state"])
def test_a_checkpoint_of_something_else_is_one_sentence(tmp_path: Path, change: str) -> None:
    """A file with the right name, as somebody else's results may hold one."""
    engine = replace(tiny_engine(), checkpoints=Checkpoints(tmp_path, "code", 0.0))
    interrupted(engine, STOPS["rounds"], 3)
    (path,) = tmp_path.glob("*.safetensors")
    header, tensors = read_tensors(path)
    if change == "no number":
        del header["state"]["count"]
    elif change == "no state":
        header["state"] = [1]
    else:
        tensors["weights"] = tensors["weights"][:, :3].clone()
        tensors = {"a": tensors["weights"]} if change == "no tensor" else tensors
    write_tensors(path, tensors, header)
    if change == "no state":  # nothing was taken from it: the training begins anew
        assert interrupted(engine, STOPS["rounds"], 2) == 2
        return
    with pytest.raises(StoreError, match=r"is not a checkpoint of this training .*: delete it"):
        train(engine, STOPS["rounds"])
