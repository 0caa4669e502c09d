"""Settings are shown as a training had them, also where its scenario has others today."""

from __future__ import annotations

from pathlib import Path

from sifu.plan.report_plan import Job, ReportPlan
from sifu.report.results import Results
from sifu.report.trained_settings import as_trained, settings_of_training
from sifu.store.schemas import CELLS
from tests.sparse_tables import write

TODAY = {"federation": {"clip": 1e4, "spares": 3}, "stop": {"accuracy": 0.9}, "model": "cnn", "certificate": {"a": 1}}
STAMP = {"federation": {"clip": None}, "model": "cnn", "certificate": {"contraction": 1.0}}
MADE = TODAY | {"federation": {"clip": None, "spares": 3}}


def test_what_the_stamp_says_comes_first() -> None:
    """A key that is newer than the stamp is as today, and so is what a training does not depend on."""
    assert as_trained(TODAY, STAMP) == MADE
    assert as_trained(TODAY, {}) == TODAY


def test_a_manifest_has_the_training_of_all_and_those_of_single_methods() -> None:
    blocks = [{"stage": "train", "scenario": "s", "settings": "b", "variant": "dp"}]
    blocks += [
        {"stage": stage, "scenario": "s", "settings": name} for stage, name in (("unlearn", "c"), ("train", "a"))
    ]
    manifest = {"blocks": blocks, "block_settings": {"a": STAMP, "b": {}, "c": {}}}
    assert settings_of_training(manifest, "s") == STAMP
    assert settings_of_training(manifest, "other") == {}


def test_results_show_the_settings_of_what_is_stored(tmp_path: Path) -> None:
    """Of a scenario that was trained; another one, which was not, is left out."""
    path = tmp_path / "train" / "s" / "s000-000" / "cells.parquet"
    write(path, CELLS, [{"scenario": "s", "variant": "train", "seed": 0}], STAMP)
    jobs = {"train": [Job("s", "s000-000"), Job("t", "s000-000")]}
    plan = ReportPlan(str(tmp_path), titles={"s": "S"}, jobs=jobs, settings={"s": TODAY, "t": TODAY})
    assert Results(plan).settings == {"s": MADE}
