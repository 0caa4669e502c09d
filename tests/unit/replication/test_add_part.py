"""A part of a run is added: new files are copied, methods that were run later join the tables of their block."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from sifu.cli.main import main
from sifu.errors import StoreError
from sifu.plan.part import scratch_of
from sifu.replication.add_part import add_part
from sifu.replication.manifest import jobs_of
from sifu.store.parquet import read_stamp, read_table, write_table
from sifu.store.provenance import Provenance
from sifu.store.schemas import METRICS, VERIFICATION
from tests.conftest import made_once
from tests.small_run import BLOCK, run_small

SCHEMAS = {"metrics": METRICS, "verification": VERIFICATION}
VERIFY, SEARCH = Path("verify", "smoke", BLOCK), Path("search", "smoke", "dp_smoke", "s1000000-1000000")
CELLS = Path("unlearn", "smoke", "dp_smoke", BLOCK, "cells.parquet")


def rewrite(folder: Path, table: str, frame: pd.DataFrame, **changes: str) -> None:
    stamp = Provenance(**read_stamp(folder / f"{table}.parquet") | changes)
    write_table(folder / f"{table}.parquet", SCHEMAS[table], frame, stamp)


def without(results: Path, variant: str, commit: str) -> None:
    """As if the method had not been run: no cells, no rows of verification."""
    shutil.rmtree(results / "unlearn" / "smoke" / variant)
    for name, schema in SCHEMAS.items():
        rows = read_table(results / VERIFY / f"{name}.parquet", schema)
        rewrite(results / VERIFY, name, rows[rows["variant"] != variant], commit=commit)
    (results / VERIFY / "time.json").write_text('{"began": 5.0, "seconds": 2.0, "cpu_seconds": 3.0}\n')


@pytest.fixture
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "small_run", run_small) / "results"


@pytest.fixture
def stored(tmp_path: Path, whole: Path) -> Path:
    """Scratch and SIFU."""
    results = shutil.copytree(whole, tmp_path / "stored")
    without(results, "dp_smoke", "first")
    shutil.rmtree(results / SEARCH)
    return results


@pytest.fixture
def part(tmp_path: Path, whole: Path) -> Path:
    """Scratch again, and DP-FedAvg."""
    results = shutil.copytree(whole, tmp_path / "part")
    without(results, "sifu", "second")
    return results


def test_the_rows_are_those_of_a_run_of_all_methods(stored: Path, part: Path, whole: Path) -> None:
    added = add_part(part, stored)
    assert added.methods == {f"verify/smoke/{BLOCK}": ["dp_smoke"]}
    for name, schema in SCHEMAS.items():
        rows, wanted = (read_table(at / VERIFY / f"{name}.parquet", schema) for at in (stored, whole))
        pd.testing.assert_frame_equal(rows, wanted)
    assert (stored / CELLS).read_bytes() == (part / CELLS).read_bytes()
    assert (stored / SEARCH / "search.parquet").exists()


def test_where_they_come_from_is_told(stored: Path, part: Path) -> None:
    """By the stamp, and so by the manifest; the times of both jobs are one."""
    add_part(part, stored)
    stamp = read_stamp(stored / VERIFY / "metrics.parquet")
    (source,) = json.loads(stamp["notes"])["added"]
    assert stamp["commit"] == "first"
    assert (source["variants"], source["commit"]) == (["dp_smoke"], "second")
    assert json.loads((stored / VERIFY / "time.json").read_text()) == {"began": 5.0, "seconds": 4.0, "cpu_seconds": 6.0}
    (job,) = [job for job in jobs_of(stored) if job["stage"] == "verify"]
    assert job["added"] == [source]


def test_the_time_of_a_job_without_tables_goes_with_its_training(stored: Path, part: Path) -> None:
    """What a certificate is compared with was trained once more, on another machine than the stored training."""
    time = Path("counterfactual", "smoke", BLOCK, "time.json")
    (part / time).parent.mkdir(parents=True)
    (part / time).write_text('{"began": 5.0, "seconds": 2.0}\n')
    add_part(part, stored)
    assert not (stored / time).exists()
    shutil.rmtree(stored / "train")
    add_part(part, stored)
    assert (stored / time).exists()


def test_a_second_time_nothing_changes(stored: Path, part: Path) -> None:
    add_part(part, stored)
    before = {path: path.read_bytes() for path in stored.rglob("*") if path.is_file()}
    assert add_part(part, stored) == (0, {})
    assert {path: path.read_bytes() for path in stored.rglob("*") if path.is_file()} == before


def test_rows_of_a_method_whose_answers_were_removed_are_replaced(stored: Path, part: Path) -> None:
    """Its old measurements are of models that are no longer told of."""
    add_part(part, stored)
    rows = read_table(stored / VERIFY / "metrics.parquet", METRICS)
    old = rows.assign(value=rows["value"].mask(rows["variant"] == "dp_smoke", 0.5))
    rewrite(stored / VERIFY, "metrics", old)
    (stored / CELLS).unlink()
    assert add_part(part, stored).methods == {VERIFY.as_posix(): ["dp_smoke"]}
    pd.testing.assert_frame_equal(read_table(stored / VERIFY / "metrics.parquet", METRICS), rows)


def test_other_scratch_models_are_refused(stored: Path, part: Path) -> None:
    """A method that was compared with them would be compared with something else in the stored table."""
    rows = read_table(part / VERIFY / "metrics.parquet", METRICS)
    one = (rows["variant"] == "scratch") & (rows["metric"] == "accuracy")
    rewrite(part / VERIFY, "metrics", rows.assign(value=rows["value"].mask(one, rows["value"] - 0.01)))
    with pytest.raises(StoreError, match="has other scratch models"):
        add_part(part, stored)
    assert not (stored / CELLS).exists()


def test_other_settings_are_refused(stored: Path, part: Path) -> None:
    settings = json.loads(read_stamp(part / VERIFY / "metrics.parquet")["settings"])
    changed = json.dumps(settings | {next(iter(settings)): "another"}, sort_keys=True)
    rewrite(part / VERIFY, "metrics", read_table(part / VERIFY / "metrics.parquet", METRICS), settings=changed)
    with pytest.raises(StoreError, match=f"other settings \\({next(iter(settings))}\\)"):
        add_part(part, stored)


def test_a_folder_without_tables_is_refused(stored: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="has no tables"):
        add_part(tmp_path / "empty", stored)


def test_results_that_are_not_planned_are_refused(stored: Path, part: Path) -> None:
    """Before anything is copied. Other callers name no plan: they add what they have run themselves."""
    before = {path: path.read_bytes() for path in stored.rglob("*") if path.is_file()}
    with pytest.raises(StoreError, match="has results of smoke, which the config does not plan"):
        add_part(part, stored, ["mnist"])
    assert {path: path.read_bytes() for path in stored.rglob("*") if path.is_file()} == before
    assert add_part(part, stored, ["smoke"]).files > 0


def test_neither_histories_nor_locks_are_copied(stored: Path, part: Path) -> None:
    """But what an unfinished audit has counted."""
    counted = Path("audit", "smoke", BLOCK, ".unfinished", "a.json")
    others = [counted.with_name(".a.json.tmp"), *(VERIFY / name for name in (".lock", ".unfinished/a.json"))]
    for place in (counted, *others):
        (part / place).parent.mkdir(parents=True, exist_ok=True)
        (part / place).touch()
        (stored / place).unlink(missing_ok=True)
    shutil.rmtree(stored / "train")
    add_part(part, stored)
    assert (stored / counted).exists()
    assert (stored / "train" / "smoke" / BLOCK / "cells.parquet").exists()
    assert not list((stored / "train").rglob("*.safetensors"))
    assert [place for place in others if (stored / place).exists()] == []


def test_the_command_finds_the_results_in_a_checkout(
    stored: Path, part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored.rename(tmp_path / "results")
    (tmp_path / "away").mkdir()
    part.rename(tmp_path / "away" / "results")
    (tmp_path / "small.yaml").write_text("scenarios: [smoke]\nvariants: [scratch]\nresults: results\n")
    with contextlib.chdir(tmp_path):
        assert main(["add-part", "away", "--config", "small.yaml"]) == 0
        Path("other.yaml").write_text("scenarios: [mnist]\nvariants: [scratch]\nresults: results\n")
        assert main(["add-part", "away", "--config", "other.yaml"]) == 2
    words = capsys.readouterr().out
    assert "new files" in words
    assert f"verify/smoke/{BLOCK} has also dp_smoke" in words


def test_scratch_is_run_again_where_others_of_its_block_were_verified(stored: Path) -> None:
    other = stored / "unlearn" / "other" / "sifu" / BLOCK / "cells.parquet"
    scratch = stored / "unlearn" / "smoke" / "scratch" / BLOCK / "cells.parquet"
    assert scratch_of([str(stored / CELLS), str(other), str(stored / SEARCH)], stored) == [str(scratch)]
