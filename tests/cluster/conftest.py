"""A Slurm with four nodes on this machine, and a checkout for it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.machine import limited, traces
from tests.conftest import REPO
from tests.workflow.conftest import copied

SCRIPT = str(REPO / "tests" / "cluster" / "slurm.sh")
SNAKEMAKE = str(REPO / "tests" / "cluster" / "impatient.py")
NODES = 4
# no accounting, and short waits: a real cluster is queried less often
SLURM = (
    *("--workflow-profile", "profiles/slurm", "--slurm-status-command", "squeue", "--slurm-no-account"),
    *("--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1", "--latency-wait", "10"),
)
LOCAL = ("--config", "results=results/local", "threads=1")
REMOTE = ("--config", "results=results/cluster", "threads=1", "block_size=1")


@dataclass(frozen=True)
class Cluster:
    """A checkout on a machine with Slurm."""

    root: Path
    environment: dict[str, str]

    def snakemake(self, *arguments: str, config: str = "config/smoke.yaml", seconds: int = 1200) -> tuple[int, str]:
        command = (sys.executable, SNAKEMAKE, *arguments, "--configfile", config)
        return limited(command, seconds, self.root, self.environment)

    def jobs(self) -> list[dict[str, str]]:
        """What Slurm says about each job, in the order of their numbers."""
        status, output = limited(("scontrol", "--oneliner", "show", "jobs"), 20, self.root)
        assert status == 0, output[-4000:]
        jobs = [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in output.splitlines()]
        return sorted(
            (job for job in jobs if "JobId" in job), key=lambda job: int(job["JobId"])
        )  # without: no jobs yet


def script(*arguments: str, seconds: int) -> None:
    status, output = limited((SCRIPT, *arguments), seconds, REPO)
    if status != 0:
        pytest.fail(output.strip(), pytrace=False)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Slurm and a checkout; both are removed afterwards, and that is checked."""
    script("install", seconds=600)
    folder, before = tmp_path_factory.mktemp("cluster"), traces()
    for name in ("checkout", "temporary", "cache"):
        (folder / name).mkdir()
    copied(folder / "checkout")
    folders = {
        "PYTHONPATH": folder / "checkout",
        "TMPDIR": folder / "temporary",
        "XDG_CACHE_HOME": folder / "cache",
        "SIFU_DATA_ROOT": folder / "none",
    }
    try:
        script("up", str(folder / "slurm-of-the-tests"), seconds=180)
        environment = os.environ | {name: str(path) for name, path in folders.items()}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise each of a hundred processes compiles the package
        yield Cluster(folder / "checkout", environment)
    finally:
        script("down", str(folder / "slurm-of-the-tests"), seconds=180)
        shutil.rmtree(folder)
        leftovers = traces() - before
        assert not leftovers, f"Slurm left behind: {sorted(leftovers)}"
