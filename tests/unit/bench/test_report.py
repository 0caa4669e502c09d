"""The benchmark runs and prints its tables; speed itself is not tested."""

from __future__ import annotations

import json

import pytest

from sifu.bench.planning import PlanningRow, bench_planning
from sifu.bench.report import Bench
from sifu.cli.main import main
from tests.conftest import REPO

COMMAND = [
    "bench",
    "--scenarios",
    "smoke",
    "--seeds",
    "1",
    "2",
    "--rounds",
    "1",
    "--device",
    "cpu",
    "--threads",
    "1",
    "--plan",
]


@pytest.mark.second
def test_bench_prints_rows_and_a_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)
    assert main([*COMMAND, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["scenario"], row["seeds"]) for row in found["rounds"]] == [("smoke", 1), ("smoke", 2)]
    for row in found["rounds"]:
        assert row["engine_ms"] > 0
        assert row["plain_ms"] > 0
        assert row["ratio"] == pytest.approx(row["plain_ms"] / row["engine_ms"])
    assert found["planning"] == []
    found["planning"] = [PlanningRow(500, 912, 9.0, 5.5, 200.0)._asdict()]
    monkeypatch.setattr(Bench, "run", lambda bench: found)  # the same numbers, for people
    assert main(COMMAND) == 0
    shown = capsys.readouterr().out
    assert "ratio" in shown
    assert "ms a job" in shown


@pytest.mark.long  # two dry runs of Snakemake
def test_planning_is_measured() -> None:
    """Eleven seeds one by one: five variants, and a partition, a training, a verification and an alpha of each."""
    row = bench_planning(55)
    assert row.cells == 55
    assert row.jobs == 11 * (5 + 4) + 4 + 8  # null space, report, page, all: once; 8 figures
    assert row.seconds > 0
