"""Promises by the earlier count and by today's, side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sifu.docs.replication_run import measured_run
from sifu.docs.two_counts import two_counts
from tests.claimed import World, write_manifest


@pytest.mark.long
def test_a_promise_may_be_kept_by_one_count_and_broken_by_another(tmp_path: Path) -> None:
    """epsilon 10, delta 0.01: sigma = 1 hides 2.856. Psi is 2 with empty seats, 4 with refilled ones; alpha 1."""
    write_manifest(World(("mnist",)).write(tmp_path))
    run = measured_run(tmp_path)
    cells = run.tables.cells
    sifu = cells["variant"] == "sifu"
    told = cells.assign(claimed_epsilon=10.0, claimed_delta=0.01, sigma=1.0, empty_psi=2.0, strict_psi=4.0, alpha=1.0)
    told["alpha"] = told["alpha"].mask(told["request"] > 1)
    text = two_counts(replace(run, tables=replace(run.tables, cells=told[sifu & (told["scenario"] == "mnist")])))
    finished = told[sifu & (told["scenario"] == "mnist") & (told["stop"] == "target")]
    answers, first = len(finished), int((finished["request"] == 1).sum())
    assert f"| {answers} of {answers} | 0 of {answers} | {first} of {first} | 2.00 |" in text
    assert "Not run." in two_counts(replace(run, tables=replace(run.tables, cells=cells[:0])))
