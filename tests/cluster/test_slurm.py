"""The suite on a real Slurm: four nodes give the tables of one machine. The second test uses the run of the first.

From partitions to metrics, with two variants; tests/cluster/test_whole.py runs every stage.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster.compare import differences
from tests.cluster.conftest import LOCAL, NODES, REMOTE, SLURM, Cluster

pytestmark = pytest.mark.cluster


def test_four_nodes_give_the_tables_of_one_machine(cluster: Cluster) -> None:
    """On the cluster each seed is a separate block and job; on one machine they are one. Both run at the same time."""
    measured, some = ("--until", "verify"), "variants=[scratch,sifu]"
    with ThreadPoolExecutor(1) as background:
        local = background.submit(cluster.snakemake, "--cores", "2", *measured, *LOCAL, some)
        remote = cluster.snakemake(*SLURM, *measured, *REMOTE, some)
    for status, output in (local.result(), remote):
        assert status == 0, output[-4000:]
    results = cluster.root / "results"
    assert len(list(results.glob("cluster/verify/smoke/*/metrics.parquet"))) == 2, "a block for each seed"
    assert differences(results / "local", results / "cluster") == []


def test_every_node_had_work_and_small_jobs_shared_one(cluster: Cluster) -> None:
    jobs = cluster.jobs()
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    assert {job["NodeList"] for job in jobs} == {f"n{number}" for number in range(1, NODES + 1)}
    comments = [job["Comment"] for job in jobs]
    assert sum("rule_train_wildcards" in comment for comment in comments) == 2, "a job for each seed"
    assert sum("rule_partition" in comment for comment in comments) == 1, "both partitions"
