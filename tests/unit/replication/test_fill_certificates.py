"""Stored tables from before budgets had certificates counted are filled, once, and say so."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sifu.cli.main import main
from sifu.replication.fill_certificates import fill_certificates
from sifu.store.parquet import read_stamp, read_table, write_table
from sifu.store.provenance import Provenance
from sifu.store.schemas import CELLS
from sifu.unlearning.same_start import COUNTED
from tests.small_run import BLOCK, VARIANTS


def cells_of(results: Path, variant: str) -> Path:
    return results / "unlearn" / "smoke" / variant / BLOCK / "cells.parquet"


def test_stored_tables_are_filled_as_the_stage_fills_them(small_run: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(small_run / "results" / "unlearn", results / "unlearn")
    expected = {}
    for variant in VARIANTS:
        path = cells_of(results, variant)
        cells, stamp = read_table(path, CELLS), Provenance(**read_stamp(path))
        expected[path] = cells, stamp
        empty = cells.copy()
        empty.loc[empty["stop"] != "target", list(COUNTED)] = np.nan
        write_table(path, CELLS, empty, stamp)
    filled = fill_certificates(results)
    assert set(filled) == set(expected)
    for path, (cells, stamp) in expected.items():
        pd.testing.assert_frame_equal(read_table(path, CELLS), cells)
        budgets = cells[cells["stop"] != "target"]
        assert filled[path] == budgets["actual_epsilon"].notna().sum() > 0
        now = read_stamp(path)
        assert json.loads(now.pop("notes"))["filled_certificates"]["rows"] == filled[path]
        assert now == {key: value for key, value in stamp.stamp().items() if key != "notes"}
    assert fill_certificates(results) == {}


def test_the_command(small_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is left to fill in a run of today."""
    with contextlib.chdir(small_run):
        assert main(["fill-certificates", "--config", "config/small.yaml"]) == 0
    assert capsys.readouterr().out == "filled 0 rows in 0 tables\n"
