"""Methods whose models were made later join the table of forgetting, as if all had been made at once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from sifu.errors import StoreError
from sifu.plan.load import load_suite, read_yaml
from sifu.replication.add_part import add_part
from sifu.replication.joined_rows import lacking
from sifu.stages.forgetting import run_forgetting
from sifu.store.forgetting_schemas import DISTANCES, FORGETTING, POWER
from sifu.store.oracle_schemas import CLIENT_MARGINS, MARGINS
from sifu.store.parquet import read_stamp, read_table, write_table
from sifu.store.paths import stage_folder
from sifu.store.provenance import Provenance, provenance
from tests.conftest import REPO
from tests.unit.stages import made_margins

TABLES = (FORGETTING, DISTANCES, POWER, CLIENT_MARGINS)
FOLDER, ORACLES = Path("forgetting", "made", "s000-039"), Path("oracles", "made", "s000-039")


def results(root: Path, *variants: str) -> Path:
    """A results folder of some variants."""
    margins = root / ORACLES / "margins.parquet"
    margins.parent.mkdir(parents=True)
    made_margins.tables(margins.parent)
    rows = read_table(margins, MARGINS)
    rows = rows[rows["variant"].isin(variants)]
    write_table(margins, MARGINS, rows, provenance("oracles", {}, "", "cpu"), row_group_size=1)
    stamp = provenance("forgetting", {}, "", "cpu", oracles={"s000-039": len(rows)})
    run_forgetting("made", [margins.parent], root / FOLDER, stamp)
    for folder in (FOLDER, ORACLES):
        (root / folder / "time.json").write_text('{"began": 1.0, "seconds": 2.0, "cpu_seconds": 3.0}\n')
    margins.unlink()  # they are not kept
    return root


def rows_of(root: Path) -> list[pd.DataFrame]:
    return [read_table(root / FOLDER / f"{table.name}.parquet", table) for table in TABLES]


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All methods, made at once."""
    return results(tmp_path_factory.mktemp("part"), "original", "scratch", "method")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, part: Path) -> Path:
    """Scratch and the original, which `method` joined."""
    root = results(tmp_path_factory.mktemp("stored"), "original", "scratch")
    assert add_part(part, root).methods == {FOLDER.as_posix(): ["method"]}
    return root


def test_the_rows_are_those_of_all_methods_made_at_once(stored: Path, part: Path) -> None:
    for found, wanted in zip(rows_of(stored), rows_of(part), strict=True):
        pd.testing.assert_frame_equal(found, wanted)


def test_models_and_times_of_both_are_counted(stored: Path) -> None:
    """40 models a variant, request and world: 320 of two variants, and 480 of three, where scratch was made again."""
    notes = json.loads(read_stamp(stored / FOLDER / "forgetting.parquet")["notes"])
    assert notes["oracles"] == {"s000-039": 320 + 480}
    assert [one["variants"] for one in notes["added"]] == [["method"]]
    assert json.loads((stored / ORACLES / "time.json").read_text())["seconds"] == 4.0


def test_models_next_to_another_scratch_are_refused(part: Path, tmp_path: Path) -> None:
    own = shutil.copytree(part, tmp_path / "own")
    table = own / FOLDER / "forgetting.parquet"
    rows = read_table(table, FORGETTING)
    others = rows.assign(twins_auc=rows["twins_auc"] + 0.01)[rows["variant"] != "method"]
    write_table(table, FORGETTING, others, Provenance(**read_stamp(table)))
    before = table.read_bytes()
    with pytest.raises(StoreError, match="has other scratch models"):
        add_part(part, own)
    assert table.read_bytes() == before


def test_methods_that_a_table_lacks_are_named(stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The smoke config plans SIFU next to scratch in the place of the table; other scenarios were not asked for."""
    raw = read_yaml(REPO / "config" / "smoke.yaml")
    oracles = raw["oracles"] | {"variants": ["scratch", "sifu"]}
    suite = load_suite(raw | {"results": "there", "oracles": oracles}, REPO / "config", {})
    (job,) = suite.jobs["forgetting"]
    monkeypatch.chdir(tmp_path)
    assert list(lacking(suite, None)) == []
    rows = rows_of(stored)[0].assign(scenario=job.scenario)
    table = stage_folder(Path("there"), "forgetting", job.scenario, job.block) / "forgetting.parquet"
    write_table(table, FORGETTING, rows, provenance("forgetting", {}, "", "cpu"))
    (words,) = lacking(suite, [job.scenario])
    assert "lacks sifu: see docs/offline.md" in words
    assert list(lacking(suite, ["other"])) == []
    table.write_bytes(b"")
    assert list(lacking(suite, None)) == [], "the report says what is damaged"
