"""The benchmark runs and prints its tables; speed itself is not tested."""

from __future__ import annotations

import json

import pytest

from sifu.bench.report import Bench
from sifu.cli.main import main
from tests.conftest import REPO

COMMAND = ["bench", "--scenarios", "smoke", "--seeds", "1", "2", "--rounds", "1", "--device", "cpu", "--threads", "1"]


def test_bench_prints_rows_and_a_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)
    assert main([*COMMAND, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["scenario"], row["seeds"]) for row in found["rounds"]] == [("smoke", 1), ("smoke", 2)]
    for row in found["rounds"]:
        assert row["engine_ms"] > 0
        assert row["plain_ms"] > 0
        assert row["ratio"] == pytest.approx(row["plain_ms"] / row["engine_ms"])
    monkeypatch.setattr(Bench, "run", lambda bench: found)  # the same numbers, for people
    assert main(COMMAND) == 0
    assert "ratio" in capsys.readouterr().out
