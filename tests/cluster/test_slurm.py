"""The suite on a real Slurm: four nodes give the tables of one machine. The tests of this file build on one another."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.compare import differences
from tests.cluster.machine import limited, traces
from tests.conftest import REPO
from tests.workflow.conftest import copied

pytestmark = pytest.mark.cluster

SCRIPT = str(REPO / "tests" / "cluster" / "slurm.sh")
SNAKEMAKE = str(REPO / "tests" / "cluster" / "impatient.py")
NODES = 4
# no accounting here, and no time to wait: a real cluster is asked less often
SLURM = (
    *("--workflow-profile", "profiles/slurm", "--slurm-status-command", "squeue", "--slurm-no-account"),
    *("--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1", "--latency-wait", "10"),
)


@dataclass(frozen=True)
class Cluster:
    """A checkout on a machine with Slurm."""

    root: Path
    environment: dict[str, str]

    def snakemake(self, *arguments: str, seconds: int = 400) -> tuple[int, str]:
        command = (sys.executable, SNAKEMAKE, *arguments, "--configfile", "cluster.yaml")
        return limited(command, seconds, self.root, self.environment)

    def jobs(self) -> list[dict[str, str]]:
        """What Slurm says of each job, in the order of their numbers."""
        status, output = limited(("scontrol", "--oneliner", "show", "jobs"), 20, self.root)
        assert status == 0, output[-4000:]
        found = [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in output.splitlines()]
        return sorted(found, key=lambda job: int(job["JobId"]))


def script(*arguments: str, seconds: int) -> None:
    status, output = limited((SCRIPT, *arguments), seconds, REPO)
    if status != 0:
        pytest.fail(output.strip(), pytrace=False)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Slurm, and a checkout beside it; both are gone afterwards, and that is checked."""
    script("install", seconds=180)
    folder, before = tmp_path_factory.mktemp("cluster"), traces()
    for name in ("checkout", "temporary", "cache"):
        (folder / name).mkdir()
    copied(folder / "checkout")
    shutil.copy(REPO / "tests" / "cluster" / "config.yaml", folder / "checkout" / "cluster.yaml")
    places = {
        "PYTHONPATH": folder / "checkout",
        "TMPDIR": folder / "temporary",
        "XDG_CACHE_HOME": folder / "cache",
        "SIFU_DATA_ROOT": folder / "none",
    }
    try:
        script("up", str(folder / "slurm"), seconds=60)
        yield Cluster(folder / "checkout", os.environ | {name: str(path) for name, path in places.items()})
    finally:
        script("down", str(folder / "slurm"), seconds=60)
        shutil.rmtree(folder)
        left = traces() - before
        assert not left, f"Slurm left behind: {sorted(left)}"


def test_four_nodes_give_the_tables_of_one_machine(cluster: Cluster) -> None:
    """There each seed is a block and a job of its own; here both are one."""
    status, output = cluster.snakemake("--cores", "2", "--until", "report")
    assert status == 0, output[-4000:]
    status, output = cluster.snakemake(*SLURM, "--config", "results=results/cluster", "block_size=1")
    assert status == 0, output[-4000:]
    results = cluster.root / "results"
    assert (results / "cluster" / "report" / "report.html").exists()
    shutil.rmtree(results / "cluster" / "null_space")  # only a figure needs it, and the run on one machine drew none
    assert differences(results / "local", results / "cluster") == []


def test_every_node_had_work_and_small_jobs_shared_one(cluster: Cluster) -> None:
    jobs = cluster.jobs()
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    assert {job["NodeList"] for job in jobs} == {f"n{number}" for number in range(1, NODES + 1)}
    comments = [job["Comment"] for job in jobs]
    assert sum("rule_train_wildcards" in comment for comment in comments) == 2, "a job for each seed"
    assert sum("rule_report" in comment for comment in comments) == 1, "tables, figures and page"
    assert not any("rule_figure" in comment for comment in comments)


def test_a_job_that_fails_asks_for_more_and_for_a_gpu(cluster: Cluster) -> None:
    """The nodes have no real GPU: the training says so, each time that it is tried."""
    earlier = len(cluster.jobs())
    training = "results/cluster/train/smoke/s000-000/cells.parquet"
    settings = ("--config", "results=results/cluster", "block_size=1", "device=cuda")
    status, output = cluster.snakemake(*SLURM, "--retries", "1", "--force", training, *settings, seconds=120)
    assert status != 0
    assert "torch sees no CUDA device here" in output
    asked = [(job["MinMemoryNode"], job["TimeLimit"], job["TresPerJob"]) for job in cluster.jobs()[earlier:]]
    assert asked == [("12000M", "02:00:00", "gres:gpu:1"), ("24000M", "04:00:00", "gres:gpu:1")]
