"""The suite on a real Slurm: four nodes give the tables of one machine. The second test uses the run of the first."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster.compare import differences
from tests.cluster.conftest import LOCAL, NODES, REMOTE, SLURM, Cluster

pytestmark = pytest.mark.cluster


def test_four_nodes_give_the_tables_of_one_machine(cluster: Cluster) -> None:
    """On the cluster each seed is a separate block and job; on one machine they are one. Both run at the same time."""
    tables = ("--until", "report", "sweep", "request_sets")  # all but figures
    with ThreadPoolExecutor(1) as background:
        local = background.submit(cluster.snakemake, "--cores", "2", *tables, *LOCAL)
        remote = cluster.snakemake(*SLURM, *REMOTE)
    for status, output in (local.result(), remote):
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
