"""The block size that is chosen for a machine."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sifu.config import blocks
from sifu.config.blocks import (
    block_clients,
    block_name,
    block_seeds,
    chosen_block_size,
    gpu_memory,
    main_memory,
    seed_bytes,
    uses_gpu,
)
from sifu.config.scenario import Scenario
from sifu.errors import ConfigError
from sifu.plan.load import read_named
from tests.conftest import REPO

SCENARIOS = read_named(Scenario, REPO / "config/scenarios.yaml", "scenarios")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks.shutil, "which", lambda name: f"/bin/{name}")


def test_a_seed_of_cifar() -> None:
    """100 clients of 100 images of 3,072 floats, twice; 100 Gram matrices of 100^2; 5 batches of 20 images, 64 fold."""
    assert seed_bytes(SCENARIOS["cifar10"]) == 4 * (2 * 100 * 100 * 3072 + 100 * 100**2 + 5 * 20 * 3072 * 64)


def test_memory_decides(gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the memory divided by the bytes of a seed; the smallest over several scenarios; at least 1."""
    cifar, mnist = SCENARIOS["cifar10"], SCENARIOS["mnist"]
    monkeypatch.setattr(blocks, "gpu_memory", lambda: 2 * 7 * seed_bytes(cifar))
    assert chosen_block_size([cifar], "auto") == 7
    assert chosen_block_size([mnist, cifar], "cuda") == 7
    monkeypatch.setattr(blocks, "gpu_memory", lambda: 1)
    assert chosen_block_size([cifar], "auto") == 1
    monkeypatch.setattr(blocks, "gpu_memory", lambda: 10**13)
    assert chosen_block_size([cifar], "auto") == 50
    monkeypatch.setattr(blocks, "main_memory", lambda: 10**13)
    assert chosen_block_size([cifar], "cpu") == 10


def test_larger_clients_need_more() -> None:
    few = SCENARIOS["mnist"]
    many = replace(few, partition=replace(few.partition, examples=200))
    assert seed_bytes(many) > seed_bytes(few)


@pytest.mark.parametrize(
    ("device", "has_gpu", "expected"),
    [("cuda", False, True), ("auto", True, True), ("cpu", True, False), ("auto", False, False)],
)
def test_which_jobs_have_a_gpu(device: str, has_gpu: bool, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks.shutil, "which", lambda name: "/bin/x" if has_gpu else None)
    assert uses_gpu(device) is expected


def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(blocks.shutil, "which", lambda name: None)
    monkeypatch.setattr(blocks, "_GPU_FILES", (str(tmp_path / "none"),))
    blocks.refuse_missing_gpu("auto")
    with pytest.raises(ConfigError, match=r"device: 'cuda' is refused; allowed: cpu \| auto \(no GPU is seen"):
        blocks.refuse_missing_gpu("cuda")
    monkeypatch.setattr(blocks, "_GPU_FILES", (str(tmp_path),))
    blocks.refuse_missing_gpu("cuda")


@pytest.mark.parametrize(("device", "expected"), [("auto", True), ("cuda", True), ("cpu", False)])
def test_jobs_on_a_cluster_ask_for_their_gpu(monkeypatch: pytest.MonkeyPatch, device: str, expected: bool) -> None:
    """The machine that submits them need not have one."""
    monkeypatch.setattr(blocks.shutil, "which", lambda name: None)
    assert uses_gpu(device, cluster=True) is expected


def test_memory_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks.subprocess, "run", lambda *args, **kwargs: SimpleNamespace(stdout="143771\n"))
    assert gpu_memory() == 143771 * 2**20
    assert main_memory() > 10**8


@pytest.mark.parametrize("answer", [FileNotFoundError(), subprocess.TimeoutExpired("nvidia-smi", 20)], ids=repr)
def test_a_gpu_without_an_answer_counts_as_a_small_one(answer: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise answer

    monkeypatch.setattr(blocks.subprocess, "run", fail)
    assert gpu_memory() == 8 * 10**9


@given(st.integers(0, 1200), st.integers(1, 1000))
def test_block_names_come_back(first: int, count: int) -> None:
    seeds = range(first, first + count)
    assert block_seeds(block_name(seeds)) == seeds


@pytest.mark.parametrize("name", ["s0-1", "000-001", "s003-001", "s000", "x", "s000-001-002"])
def test_bad_block_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="a name like s000-009"):
        block_seeds(name)


def test_no_block_is_larger_than_a_config_may_plan() -> None:
    """A slip of the key would train for years."""
    assert len(block_seeds("s007-100006")) == 100_000
    for read, name in ((block_seeds, "s000-9999999"), (block_seeds, "s007-100007"), (block_clients, "c000-100000")):
        with pytest.raises(ConfigError, match=r"of at most 100,000 (seeds|clients)"):
            read(name)
