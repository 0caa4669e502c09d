"""If a node dies while it runs a job, another node runs the job, with the same tables."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psutil
import pytest

from tests.cluster.compare import differences
from tests.cluster.conftest import LOCAL, REMOTE, SLURM, Cluster

pytestmark = pytest.mark.faults

TABLES = "train/smoke/{block}/cells.parquet"


def test_a_job_of_a_dead_node_runs_on_another(cluster: Cluster) -> None:
    """After SlurmdTimeout Slurm gives up a node that does not answer; its job is NODE_FAIL, Snakemake runs it again."""
    status, output = cluster.snakemake("--cores", "2", f"results/local/{TABLES.format(block='s000-001')}", *LOCAL)
    assert status == 0, output[-4000:]
    wanted = [f"results/cluster/{TABLES.format(block=block)}" for block in ("s000-000", "s001-001")]
    with ThreadPoolExecutor(1) as background:
        run = background.submit(cluster.snakemake, *SLURM, *wanted, *REMOTE, seconds=900)
        lost = wait_for_training(cluster)
        kill_node(lost["NodeList"], lost["JobId"])
        status, output = run.result()
    assert status == 0, output[-4000:]
    jobs = {job["JobId"]: job for job in cluster.jobs()}
    assert jobs[lost["JobId"]]["JobState"] == "NODE_FAIL"
    again = [job for job in jobs.values() if job["Comment"] == lost["Comment"] and job["JobId"] != lost["JobId"]]
    assert [job["JobState"] for job in again] == ["COMPLETED"]
    assert again[0]["NodeList"] != lost["NodeList"]
    assert differences(cluster.root / "results" / "local", cluster.root / "results" / "cluster") == []


def wait_for_training(cluster: Cluster) -> dict[str, str]:
    """The first training that runs."""
    for _ in range(300):
        for job in cluster.jobs():
            if job["JobState"] == "RUNNING" and "rule_train" in job["Comment"]:
                return job
        time.sleep(0.2)
    raise AssertionError("no training was started within a minute")


def kill_node(name: str, job: str) -> None:
    """Simulate a power cut: kill the node's daemon, the job's step managers and the job at once."""
    victims = []
    for _ in range(50):
        victims = processes_of(name, job)
        if any(process.name().startswith("python") for process in victims):
            break
        time.sleep(0.1)
    assert any(process.name() == "slurmd" for process in victims)
    assert len(victims) > 2, "the job had not begun"
    for end in (psutil.Process.suspend, psutil.Process.kill):  # none may survive to report the others
        for process in victims:
            with suppress(psutil.NoSuchProcess):
                end(process)


def processes_of(node: str, job: str) -> list[psutil.Process]:
    """The daemon of a node, the step managers of a job, and all that they started."""
    processes: list[psutil.Process] = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess):
            command = process.cmdline() or [""]
            if process.name() == "slurmd" and command[-2:] == ["-N", node]:
                processes.append(process)
            elif process.name() == "slurmstepd" and f"[{job}." in " ".join(command):
                processes += [process, *process.children(recursive=True)]
    return processes
