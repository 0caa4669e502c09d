"""Histories and weights of other seeds or scenarios, put where they do not belong: one sentence from every stage."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from sifu.cli.main import main
from sifu.federation.segment_file import read_history
from sifu.store.parquet import read_table
from sifu.store.schemas import CELLS
from sifu.store.tensors import read_tensors, write_tensors
from tests.conftest import one_sentence
from tests.faults.test_stage_faults import write_config

OURS, OTHERS = "s000-001", "s002-003"
UNLEARN = ["unlearn", "--variant"]
READERS = [  # of which all read histories by one function
    [*UNLEARN, "scratch"],
    *(pytest.param([*UNLEARN, name], marks=pytest.mark.long) for name in ("fine_tuning", "sifu", "fed_accum")),
    pytest.param(["alpha"], marks=pytest.mark.long),
    pytest.param(["sweep", "--variant", "sifu", "--sigmas", "0.1"], marks=pytest.mark.long),
    pytest.param(["request_sets", "--variants", "scratch", "--count", "1"], marks=pytest.mark.long),
]


def stage(root: Path, block: str, *arguments: str) -> int:
    usual = ["--scenario", "x", "--block", block, "--config", str(root / "config"), "--results", str(root)]
    return main([*arguments, *usual, *(() if arguments == ("partition",) else ("--device", "cpu"))])


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two blocks of seeds, trained; scratch's answers of both."""
    root = tmp_path_factory.mktemp("ran")
    write_config(root / "config", stop={"accuracy": 0.5, "min_rounds": 4, "max_rounds": 4})
    for block in (OURS, OTHERS):
        for arguments in (["partition"], ["train"], ["unlearn", "--variant", "scratch"]):
            assert stage(root, block, *arguments) == 0
    return root


@pytest.fixture
def mixed(ran: Path, tmp_path: Path) -> Path:
    shutil.copytree(ran, tmp_path / "mixed")
    return tmp_path / "mixed"


@pytest.mark.parametrize("command", READERS, ids=lambda command: "_".join(command[:3:2]))
def test_the_history_of_other_seeds_is_refused(
    mixed: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """By every method: most of them never replay a round, and did not notice."""
    history = "history.safetensors"
    shutil.copy(mixed / "train/x" / OTHERS / history, mixed / "train/x" / OURS / history)
    capsys.readouterr()
    assert stage(mixed, OURS, *command) == 2
    assert "is the history of other seeds than 0 to 1" in one_sentence(capsys)


def test_the_history_of_another_training_is_refused(mixed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_config(
        mixed / "config", federation={"clients_per_round": 10, "local_steps": 6, "batch_size": 10, "client_lr": 0.1}
    )
    capsys.readouterr()
    assert stage(mixed, OURS, "unlearn", "--variant", "scratch") == 2
    assert "is the history of another training: its settings of federation" in one_sentence(capsys)


@pytest.mark.parametrize("damage", ["seeds", "shape", "finite", "stops", "table"])
def test_weights_of_something_else_are_refused(mixed: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = mixed / "unlearn/x/scratch"
    path = folder / OURS / "weights.safetensors"
    header, tensors = read_tensors(path)
    if damage == "seeds":
        shutil.copy(folder / OTHERS / path.name, path)
    elif damage == "table":
        shutil.copy(folder / OTHERS / "cells.parquet", folder / OURS / "cells.parquet")
    elif damage == "stops":
        write_tensors(path, {name: tensor for name, tensor in tensors.items() if "/2/" not in name}, header)
    else:
        wrong = torch.zeros(2, 7) if damage == "shape" else torch.full_like(tensors["target/1/weights"], torch.nan)
        write_tensors(path, tensors | {"target/1/weights": wrong}, header)
    capsys.readouterr()
    assert stage(mixed, OURS, "verify", "--variants", "scratch") == 2
    words = {
        "seeds": "forgets other clients at request 1",
        "shape": "is torch.float32 of shape (2, 7), expected 2 rows of 7850 weights",
        "finite": "of seed 0 is not finite, and did not diverge",
        "stops": "does not hold the weights of 2 requests",
        "table": "holds rows of seed 2, 3, its path says 0 to 1",
    }
    assert words[damage] in one_sentence(capsys)


def test_what_belongs_is_read(ran: Path) -> None:
    assert stage(ran, OURS, "verify", "--variants", "scratch") == 0
    assert read_history(ran / "train/x" / OURS / "history.safetensors").settings["model"] == "logistic"
    assert len(read_table(ran / "unlearn/x/scratch" / OURS / "cells.parquet", CELLS)) == 4
