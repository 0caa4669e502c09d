"""The benchmark runs and prints its tables; speed itself is not tested."""

from __future__ import annotations

import json

import pytest

from sifu.bench.parts import summary
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
    """Eleven seeds one by one: five variants, and five jobs more of each: partition, training, the same
    training without the clients, verification, alpha.
    """
    row = bench_planning(55)
    assert row.cells == 55
    assert row.jobs == 11 * (5 + 5) + 4 + 8  # null space, report, page, all: once; 8 figures
    assert row.seconds > 0


def test_the_parts_of_a_run_are_timed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)
    assert main([*COMMAND, "--parts", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["parts"]
    assert [row["seeds"] for row in rows] == [1] * 5 + [2] * 5
    assert [row["part"] for row in rows[:3]] == ["training", "evaluation", "replay"]
    assert all(row["ms"] > 0 for row in rows)
    assert all(row["ratio"] == pytest.approx(row["ms"] / rows[index // 5 * 5]["ms"]) for index, row in enumerate(rows))


def test_kernels_are_counted_a_round_and_the_longest_named() -> None:
    """Ten rounds: 30 + 10 calls, and 6 of 8 microseconds in the first kernel."""
    assert summary([("short", 30, 2.0), ("long", 10, 6.0), ("none", 0, 0.0)], 10) == (4.0, "long 75%; short 25%")
    assert summary([], 10) == (0.0, "")
