"""Stages that are killed, run out of disk space or read damaged files: the same results, or one sentence."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml

from sifu.cli.main import main
from sifu.store.parquet import read_table, write_table
from sifu.store.provenance import provenance
from sifu.store.schemas import CELLS, PARTITION
from tests.conftest import REPO
from tests.faults.conftest import wait_for

BLOCK = ("--scenario", "x", "--block", "s000-001")
STAGES = (("partition",), ("train",), ("unlearn", "--variant", "scratch"), ("verify", "--variants", "scratch"))
STAMP = provenance("test", {}, "code", "cpu")
ROWS = pd.DataFrame({"scenario": "x", "seed": [1, 0], "client": 0, "place": 0, "row": [5, 6], "label": 1})


def write_config(folder: Path, **changes: object) -> Path:
    """A folder of configs with one scenario `x`, like `smoke`."""
    folder.mkdir(parents=True, exist_ok=True)
    smoke = yaml.safe_load((REPO / "config" / "scenarios.yaml").read_text())["smoke"]
    usual = {"requests": {"kind": "random", "num_requests": 2, "size": 2}, "budgets": []}
    (folder / "scenarios.yaml").write_text(yaml.safe_dump({"x": smoke | usual | changes}))
    shutil.copy(REPO / "config" / "variants.yaml", folder)
    return folder


def options(root: Path) -> list[str]:
    return [*BLOCK, "--config", str(root / "config"), "--results", str(root), "--data-root", str(root)]


def stage(root: Path, *arguments: str) -> int:
    return main([*arguments, *options(root), *(() if arguments == ("partition",) else ("--device", "cpu"))])


def folder_of(root: Path, name: str, variant: str = "") -> Path:
    return root / name / "x" / variant / "s000-001"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything up to `verify`."""
    root = tmp_path_factory.mktemp("done")
    write_config(root / "config")
    for arguments in STAGES:
        assert stage(root, *arguments) == 0
    return root


def dates(folder: Path) -> dict[Path, int]:
    """When each checkpoint was written."""
    return {path: path.stat().st_mtime_ns for path in folder.glob(".unfinished/*.safetensors")}


LONG = {"stop": {"accuracy": 0.99, "min_rounds": 400, "max_rounds": 400}}


@pytest.mark.faults  # `make test` interrupts trainings in one process: tests/unit/federation/test_checkpoint.py
@pytest.mark.parametrize("command", [("train",), ("unlearn", "--variant", "sifu"), ("sweep", "--variant", "sifu")])
def test_a_killed_stage_gives_the_same_bytes(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Killed in the middle of a training, twice; then it runs to its end."""
    name = command[0]
    write_config(tmp_path / "config", **LONG)
    assert stage(tmp_path, "partition") == 0
    if name != "train":
        assert stage(tmp_path, "train") == 0
    more = ("--sigmas", "0.001", "0.1") if name == "sweep" else ()
    folder = folder_of(tmp_path, name, "" if name == "train" else "sifu")
    line = [sys.executable, "-m", "sifu", *command, *more, *options(tmp_path), "--device", "cpu"]
    environment = os.environ | {"PYTHONPATH": str(REPO)}
    for _ in range(2):
        before = dates(folder)
        process = subprocess.Popen([*line, "--checkpoint-seconds", "0.05"], env=environment, stderr=subprocess.DEVNULL)
        wait_for(lambda before=before: dates(folder) != before)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        names = sorted(path.name for path in folder.iterdir())
        assert names == [".lock", ".unfinished"], "no file that could be taken for a result"
    last = subprocess.run(line, env=environment, capture_output=True, text=True)
    assert last.returncode == 0
    assert "resumes after" in last.stderr
    resumed = results_in(folder)
    shutil.rmtree(folder)
    assert stage(tmp_path, *command, *more) == 0
    assert resumed == results_in(folder)


def results_in(folder: Path) -> dict[str, bytes]:
    """All that a stage wrote, except its time."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "time.json"}


KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
import sifu.store.parquet as store
from tests.faults.test_stage_faults import ROWS, STAMP, PARTITION
def half(table, where, **_):
    Path(where).write_bytes(b"PAR1" + bytes(1000))
    os.kill(os.getpid(), signal.SIGKILL)
store.pq.write_table = half
store.write_table(Path(sys.argv[1]), PARTITION, ROWS, STAMP)
"""


@pytest.mark.second
def test_a_process_killed_while_it_writes_a_table(tmp_path: Path) -> None:
    path = tmp_path / "partition.parquet"
    line = [sys.executable, "-c", KILLED_WRITER, str(path)]
    killed = subprocess.run(line, env=os.environ | {"PYTHONPATH": str(REPO)}, check=False)
    assert killed.returncode == -signal.SIGKILL
    (leftover,) = tmp_path.iterdir()
    assert leftover.name.startswith(".partition.parquet.")
    assert leftover.name.endswith(".tmp")
    other = tmp_path / ".partition.parquet.another-machine.1.tmp"
    other.touch()  # its process may still run, so it must stay
    write_table(path, PARTITION, ROWS, STAMP)
    assert len(read_table(path, PARTITION)) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == [other.name, path.name]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A separate file system of 512 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
        reason = mounted.stderr.strip()
    except OSError as error:
        reason = str(error)
    if reason:
        pytest.skip(f"a file system cannot be mounted here: {reason}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path, free: int) -> Path:
    """Fill a disk up to `free` free bytes."""
    room = os.statvfs(folder)
    path = folder / "filler"
    path.write_bytes(bytes(max(0, room.f_bavail * room.f_frsize - free)))
    return path


@pytest.mark.parametrize("free", [0, 4096, 40_960])
def test_a_full_disk_is_one_sentence(small_disk: Path, free: int, capsys: pytest.CaptureFixture[str]) -> None:
    write_config(small_disk / "config")
    assert stage(small_disk, "partition") == 0
    filler = fill(small_disk, free)
    capsys.readouterr()
    assert stage(small_disk, "train") == 2
    sentence = capsys.readouterr().err.splitlines()[-1]
    assert sentence.startswith("error: ")
    assert "No space left on device" in sentence
    folder = folder_of(small_disk, "train")
    assert not folder.exists() or [path for path in folder.iterdir() if path.name[0] != "."] == []
    filler.unlink()
    assert stage(small_disk, "train") == 0
    assert read_table(folder / "cells.parquet", CELLS)["seed"].tolist() == [0, 1]


# a flipped bit is the hardest to notice; files that are cut or empty are no files of their kind at all
@pytest.mark.parametrize("damage", [*(pytest.param(name, marks=pytest.mark.long) for name in ("cut", "empty")), "flip"])
@pytest.mark.parametrize(
    ("file", "command", "remake"),
    [
        ("partition/x/s000-001/partition.parquet", ("train",), ("partition",)),
        ("train/x/s000-001/history.safetensors", ("unlearn", "--variant", "scratch"), ("train",)),
        ("train/x/s000-001/cells.parquet", ("unlearn", "--variant", "scratch"), ("train",)),
        (
            "unlearn/x/scratch/s000-001/weights.safetensors",
            ("verify", "--variants", "scratch"),
            ("unlearn", "--variant", "scratch"),
        ),
    ],
)
def test_a_damaged_input_says_what_to_delete(
    done: Path,
    tmp_path: Path,
    file: str,
    command: tuple[str, ...],
    remake: tuple[str, ...],
    damage: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = tmp_path / "copy"
    shutil.copytree(done, root)
    path = root / file
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2 if path.suffix == ".safetensors" else 60] ^= 4  # among the values
    path.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "flip": bytes(flipped)}[damage])
    assert stage(root, *command) == 2
    (sentence,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert str(path) in sentence
    assert sentence.endswith("delete it, and the next run makes it again")
    path.unlink()
    assert stage(root, *remake) == 0
    assert path.read_bytes() == content
    assert stage(root, *command) == 0


def test_a_block_whose_seeds_diverge_ends_with_rows_that_say_so(tmp_path: Path) -> None:
    federation = {"clients_per_round": 10, "local_steps": 5, "batch_size": 10, "client_lr": 1e38}
    write_config(tmp_path / "config", federation=federation)
    for arguments in STAGES:
        assert stage(tmp_path, *arguments) == 0
    for name, variant, count in (("train", "", 2), ("unlearn", "scratch", 4)):
        cells = read_table(folder_of(tmp_path, name, variant) / "cells.parquet", CELLS)
        assert cells["status"].tolist() == ["diverged"] * count
