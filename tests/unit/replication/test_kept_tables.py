"""What git keeps of results/paper: all that its report is made of, so that a clone can make it again."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sifu.plan.load import load_suite, read_yaml
from sifu.plan.report_plan import ReportPlan
from sifu.plan.stage_spec import STAGES
from sifu.replication.published import REPLICATION
from sifu.report.packed import KEPT as PACKED
from sifu.report.packed import unpack
from sifu.stages.report import run_report
from tests.conftest import REPO

LIMIT = 20 * 1024**2  # bytes of the replication that is kept in git


def plan() -> ReportPlan:
    config = REPO / "config" / "paper.yaml"
    unpack(REPO / REPLICATION)  # as `sifu report` does
    made = load_suite(read_yaml(config), config.parent, reports=True).report_plan()
    return replace(made, results=str(REPO / REPLICATION))


def test_git_keeps_every_table_that_the_report_reads() -> None:
    """In packed files, but for the one that has no scenario."""
    reported = {f"{stage}/{table}" for stage, spec in STAGES.items() for table in spec.reported if not spec.folder}
    assert reported - PACKED == {"null_space/null_space"}


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables for people, made of those that are kept."""
    if not (REPO / REPLICATION / "manifest.json").exists():
        pytest.skip("results/paper is not in this checkout")
    folder = tmp_path_factory.mktemp("again")
    run_report(plan(), folder)
    return folder / "tables"


@pytest.mark.long
def test_the_stored_tables_are_made_of_the_kept_ones(again: Path) -> None:
    stored = REPO / REPLICATION / "report" / "tables"
    names = sorted(path.name for path in stored.glob("*.csv") if path.stem != "statistics")
    assert names == sorted(path.name for path in again.glob("*.csv") if path.stem != "statistics")
    for name in names:
        assert (again / name).read_text() == (stored / name).read_text(), name


def kept_in_git(root: Path) -> list[Path]:
    """What git would keep of a replication: tracked, or new and not ignored."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", str(REPLICATION)]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    return [root / name for name in names if name and (root / name).exists()]


@pytest.mark.skipif(not (REPO / REPLICATION / "manifest.json").exists(), reason="results/paper is not in this checkout")
def test_the_replication_is_small() -> None:
    size = sum(path.stat().st_size for path in kept_in_git(REPO))
    assert size < LIMIT, f"results/paper is {size / 1024**2:.1f} MB in git"


KEPT = (
    "manifest.json",
    "report/report.html",
    "report/figures/requests.png",
    "report/figures/requests.md",
    "report/tables/headline.csv",
    "report/tables/headline.md",
    "report/tables/statistics.parquet",
    "report/tables/bounds.parquet",
    "report/tables/certificates.parquet",
    "packed/mnist/unlearn.cells.parquet",
    "packed/mnist/times.json",
    "null_space/null_space.parquet",
)
IGNORED = (
    ".unpacked.json",
    "train/mnist/s000-009/cells.parquet",
    "train/mnist/dp_released/s000-009/cells.parquet",
    "train/mnist/s000-009/time.json",
    "search/mnist/dp_released/s1000000-1000001/search.parquet",
    "unlearn/mnist/sifu/s000-009/cells.parquet",
    "verify/mnist/s000-009/metrics.parquet",
    "verify/mnist/s000-009/verification.parquet",
    "sweep/mnist/sifu_released/s000-009/sweep.parquet",
    "request_sets/mnist/s000-009/request_sets.parquet",
    "alpha/mnist/s000-009/alpha.parquet",
    "alpha_sweep/mnist/one_step/s000-009/alpha.parquet",
    "report/tables/headline.tex",
    "partition/mnist/s000-009/partition.parquet",
    "train/mnist/s000-009/history.safetensors",
    "train/mnist/s000-009/sensitivity.parquet",
    "train/mnist/s000-009/curves.parquet",
    "train/mnist/s000-009/log.txt",
    "unlearn/mnist/sifu/s000-009/weights.safetensors",
    "unlearn/mnist/sifu/s000-009/curves.parquet",
    "report/tables/statistics.csv",
    "report/figures/requests.pdf",
)


def test_what_git_keeps_of_a_replication(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text((REPO / ".gitignore").read_text())
    for name in (*KEPT, *IGNORED):
        path = tmp_path / REPLICATION / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "results" / "other.parquet").touch()
    assert {str(path.relative_to(tmp_path / REPLICATION)) for path in kept_in_git(tmp_path)} == set(KEPT)
