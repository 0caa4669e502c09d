"""A job that fails is tried again, and asks for more."""

from __future__ import annotations

import pytest

from tests.cluster.conftest import REMOTE, SLURM, Cluster

pytestmark = pytest.mark.cluster


def test_a_job_that_fails_asks_for_more_and_for_a_gpu(cluster: Cluster) -> None:
    """The nodes have no real GPU: the training says so, each time that it is tried."""
    training = "results/cluster/train/smoke/s000-000/cells.parquet"
    again = ("--retries", "1", "--force", training)
    status, output = cluster.snakemake(*SLURM, *again, *REMOTE, "device=cuda", seconds=600)
    assert status != 0
    assert "torch sees no CUDA device here" in output
    asked = [
        (job["MinMemoryNode"], job["TimeLimit"], job["TresPerJob"])
        for job in cluster.jobs()
        if "rule_train" in job["Comment"]
    ]
    assert asked == [("12000M", "02:00:00", "gres:gpu:1"), ("24000M", "04:00:00", "gres:gpu:1")]
