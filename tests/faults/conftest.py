"""A checkout whose trainings last long enough to be killed, and its results if nothing is killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.conftest import REPO
from tests.workflow.conftest import PARTS, Checkout

CONFIG = ("--configfile", "config/faults.yaml")
TARGET = "results/verify/long/s000-001/metrics.parquet"
TRAIN, UNLEARN = "train/long/s000-001", "unlearn/long/sifu/s000-001"
ROUNDS = 600


@dataclass(frozen=True)
class Long(Checkout):
    """A separate checkout with a scenario `long`: one block of two seeds, two variants."""

    @property
    def results(self) -> Path:
        return self.root / "results"

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.snakemake(TARGET, *CONFIG, *arguments)

    def start(self) -> subprocess.Popen[str]:
        """The same, in the background and in its own session."""
        environment = os.environ | {"PYTHONPATH": str(self.root), "SIFU_DATA_ROOT": str(self.root / "none")}
        command = [sys.executable, "-m", "snakemake", TARGET, *CONFIG, "--cores", "2"]
        with (self.root / "out.txt").open("a") as out:
            return subprocess.Popen(
                command, cwd=self.root, env=environment, stdout=out, stderr=out, text=True, start_new_session=True
            )

    def until_under_way(self, stage: str) -> None:
        """Wait until a training of a stage has written its first checkpoint."""
        wait_for(lambda: any((self.results / stage / ".unfinished").glob("*.safetensors")))

    def job(self, stage: str) -> psutil.Process:
        """The process of a stage's command in this checkout."""
        for process in psutil.process_iter(["cmdline", "cwd"]):
            line = process.info["cmdline"] or []
            if line[1:4] == ["-m", "sifu", stage] and process.info["cwd"] == str(self.root):
                return process
        raise AssertionError(f"no job of {stage}")

    def log(self, stage: str) -> str:
        path = self.results / stage / "log.txt"
        return path.read_text() if path.exists() else ""

    def tables(self) -> dict[str, pa.Table]:
        """All tables, value by value."""
        paths = sorted(self.results.rglob("*.parquet"))
        return {str(path.relative_to(self.results)): pq.read_table(path).replace_schema_metadata() for path in paths}

    def leftovers(self) -> list[Path]:
        return [path for path in self.results.rglob("*") if path.suffix == ".tmp" or path.name == ".unfinished"]


def wait_for(happened: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def long_checkout(root: Path) -> Long:
    for part in PARTS:
        copy = shutil.copytree if (REPO / part).is_dir() else shutil.copy
        copy(REPO / part, root / part)  # type: ignore[operator]
    path = root / "config" / "scenarios.yaml"
    long = yaml.safe_load(path.read_text())["smoke"] | {
        "label": "Long",
        "stop": {"accuracy": 0.99, "min_rounds": ROUNDS, "max_rounds": ROUNDS},
        "requests": {"kind": "random", "num_requests": 2, "size": 2},
        "budgets": [],
    }
    path.write_text(path.read_text() + "\n" + yaml.safe_dump({"long": long}))
    run = {"scenarios": ["long"], "variants": ["scratch", "sifu"], "num_seeds": 2, "block_size": 2}
    plain = {"device": "cpu", "threads": 2, "checkpoint_seconds": 0.1}
    (root / "config" / "faults.yaml").write_text(yaml.safe_dump(run | plain))
    return Long(root)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Long:
    made = long_checkout(tmp_path_factory.mktemp("undisturbed"))
    result = made.run()
    assert result.returncode == 0, result.stdout + result.stderr
    return made


@pytest.fixture
def long(tmp_path: Path) -> Iterator[Long]:
    made = long_checkout(tmp_path)
    yield made
    for process in psutil.process_iter(["cwd"]):  # processes that a failed test left running
        if process.info["cwd"] == str(tmp_path):
            process.kill()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return long_checkout(tmp_path_factory.mktemp("checkout"))
