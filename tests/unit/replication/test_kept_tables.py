"""What git keeps of results/paper: all that its report is made of, so that a clone can make it again."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sifu.plan.load import load_suite, read_yaml
from sifu.plan.report_plan import ReportPlan
from sifu.replication.published import REPLICATION
from sifu.report.results import Results
from sifu.stages.report import run_report
from tests.conftest import REPO


def plan() -> ReportPlan:
    config = REPO / "config" / "paper.yaml"
    made = load_suite(read_yaml(config), config.parent, reports=True).report_plan()
    return replace(made, results=str(REPO / REPLICATION))


def test_git_keeps_every_table_that_the_report_reads() -> None:
    paths = [str(path) for path in Results(plan()).all_planned()]
    asked = ["git", "check-ignore", "--no-index", "--stdin"]
    found = subprocess.run(asked, cwd=REPO, input="\n".join(paths), capture_output=True, text=True, check=False)
    if found.returncode == 128:
        pytest.skip("this is no checkout of git")
    assert found.stdout == "", "git would lose these"


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables for people, made of those that are kept."""
    if not (REPO / REPLICATION / "manifest.json").exists():
        pytest.skip("results/paper is not in this checkout")
    folder = tmp_path_factory.mktemp("again")
    run_report(plan(), folder)
    return folder / "tables"


def test_the_stored_tables_are_made_of_the_kept_ones(again: Path) -> None:
    made = sorted(path for path in again.glob("*.csv") if path.stem != "statistics")
    assert len(made) == 9, [path.name for path in made]
    for path in made:
        assert path.read_text() == (REPO / REPLICATION / "report" / "tables" / path.name).read_text(), path.name
