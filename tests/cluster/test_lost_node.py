"""A node that dies under a job: another one does its work, to the same tables."""

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


def test_a_job_of_a_dead_node_is_done_by_another(cluster: Cluster) -> None:
    """Slurm gives a node up that does not answer (SlurmdTimeout), its job ends as NODE_FAIL, Snakemake tries again."""
    status, output = cluster.snakemake("--cores", "2", f"results/local/{TABLES.format(block='s000-001')}", *LOCAL)
    assert status == 0, output[-4000:]
    wanted = [f"results/cluster/{TABLES.format(block=block)}" for block in ("s000-000", "s001-001")]
    with ThreadPoolExecutor(1) as beside:
        run = beside.submit(cluster.snakemake, *SLURM, *wanted, *REMOTE, seconds=240)
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
    """What a power cut does: the daemon of the node, the keepers of the job's steps and the job are gone at once."""
    victims = []
    for _ in range(50):
        victims = processes_of(name, job)
        if any(process.name().startswith("python") for process in victims):
            break
        time.sleep(0.1)
    assert any(process.name() == "slurmd" for process in victims)
    assert len(victims) > 2, "the job had not begun"
    for end in (psutil.Process.suspend, psutil.Process.kill):  # nobody may live to tell of the others
        for process in victims:
            with suppress(psutil.NoSuchProcess):
                end(process)


def processes_of(node: str, job: str) -> list[psutil.Process]:
    """The daemon of a node, the keepers of a job's steps, and all that they started."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess):
            words = process.cmdline() or [""]
            if process.name() == "slurmd" and words[-2:] == ["-N", node]:
                found.append(process)
            elif process.name() == "slurmstepd" and f"[{job}." in " ".join(words):
                found += [process, *process.children(recursive=True)]
    return found
