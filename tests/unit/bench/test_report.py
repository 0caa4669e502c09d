"""The benchmark runs and prints its tables; speed itself is not tested."""

from __future__ import annotations

import json

import pytest

from sifu.cli.main import main
from tests.conftest import REPO


def test_bench_prints_rows(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)
    assert (
        main(["bench", "--scenarios", "smoke", "--seeds", "1", "2", "--rounds", "2", "--device", "cpu", "--json"]) == 0
    )
    rows = json.loads(capsys.readouterr().out)["rounds"]
    assert [(row["scenario"], row["seeds"]) for row in rows] == [("smoke", 1), ("smoke", 2)]
    for row in rows:
        assert row["engine_ms"] > 0
        assert row["plain_ms"] > 0
        assert row["ratio"] == pytest.approx(row["plain_ms"] / row["engine_ms"])


def test_bench_prints_a_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)
    assert main(["bench", "--scenarios", "smoke", "--seeds", "1", "--rounds", "1", "--device", "cpu"]) == 0
    assert "ratio" in capsys.readouterr().out
