"""All of config/smoke.yaml and of config/whole.yaml on a real Slurm, one block per seed: the tables of one machine."""

from __future__ import annotations

import shutil

import pytest

from tests.cluster.compare import differences
from tests.cluster.conftest import LOCAL, NODES, REMOTE, SLURM, Cluster

pytestmark = pytest.mark.whole

WHOLE = "config/whole.yaml"
# Stages take two seconds, and each job starts Snakemake twice, so several stages share a job (docs/cluster.md). A group
# must not depend on a stage that depends on the group, so searches are separate groups.
SHORT = (
    *("--groups", "partition=before", "train=before", "train_variant=own", "search=search", "scenario_search=search"),
    *(f"{rule}=after" for rule in ("unlearn", "verify", "alpha", "alpha_sweep", "sweep", "request_sets")),
    *(f"{rule}=report" for rule in ("null_space", "figure", "report", "page")),
    *("--group-components", "before=3", "own=2", "search=2", "after=4", "--cores", "2"),
)


TABLES = ("--until", "report", "request_sets")  # all but figures; the report waits for sweeps


def test_every_stage_gives_the_tables_of_one_machine(cluster: Cluster) -> None:
    """A job for every block of every stage, as the profile has it; what is drawn and written at the end shares one."""
    for arguments in (("--cores", "2", *TABLES, *LOCAL), (*SLURM, *REMOTE)):
        status, output = cluster.snakemake(*arguments)
        assert status == 0, output[-4000:]
    results = cluster.root / "results"
    assert (results / "cluster" / "report" / "report.html").exists()
    shutil.rmtree(results / "cluster" / "null_space")  # only a figure needs it, and the run on one machine drew none
    assert differences(results / "local", results / "cluster") == []
    comments = [job["Comment"] for job in cluster.jobs()]
    assert sum("rule_report" in comment for comment in comments) == 1, "tables, figures and page"
    assert not any("rule_figure" in comment for comment in comments)
    shutil.rmtree(results)


def test_the_whole_run_gives_the_tables_of_one_machine(cluster: Cluster) -> None:
    status, output = cluster.snakemake("--cores", "2", *TABLES, *LOCAL, config=WHOLE)
    assert status == 0, output[-4000:]
    status, output = cluster.snakemake(*SLURM, *SHORT, *REMOTE, config=WHOLE, seconds=1800)
    assert status == 0, output[-4000:]
    results = cluster.root / "results"
    assert (results / "cluster" / "report" / "report.html").exists()
    shutil.rmtree(results / "cluster" / "null_space")  # only a figure needs it
    assert differences(results / "local", results / "cluster") == []
    jobs = cluster.jobs()
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    nodes = {job["NodeList"] for job in jobs}
    assert 1 < len(nodes) <= NODES, "Slurm chooses: on a busy machine few groups wait at the same time"
