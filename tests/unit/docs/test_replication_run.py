"""What pages quote of a replication's claims."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sifu.docs.replication_index import _measured_on
from sifu.docs.replication_run import MeasuredRun
from sifu.replication.claims.claim import Line
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.stored_tables import read_tables


def line(scenario: str, value: float | None) -> Line:
    measured = None if value is None else Measured.of(pd.Series([value, value + 0.1]))
    return Line(scenario, "saved", measured, None, "share", 2)


def test_an_average_is_of_the_datasets_of_its_own_claim(tmp_path: Path) -> None:
    """Another claim has a number of the same name for CelebA, where watermarks are; the average has none of it."""
    lines = {
        "with watermarks": [line("mnist", 0.1), line("celeba", 0.2)],
        "plain": [line("mnist", 0.5), line("celeba", None), line("", 0.5)],
    }
    plan = {"scenarios": {"mnist": {"label": "MNIST"}, "celeba": {"label": "CelebA"}}}
    run = MeasuredRun(tmp_path, plan, None, read_tables(tmp_path), lines, {})
    assert _measured_on(run, "saved") == "MNIST"
    assert run.averaged("saved")["mnist"] is lines["plain"][0]
    assert run.averaged("lost") == {}
