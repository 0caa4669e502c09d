"""A run as few files: the same rows and stamps come back, a run's own new files are kept, odd places are refused."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sifu.errors import StoreError
from sifu.replication.claims.stored_tables import read_tables
from sifu.report import packed
from sifu.report.packed import FOLDER, pack, unpack
from sifu.store.schemas import CELLS
from tests.small_replication import BLOCK, PLAIN, World

DATASETS = {"mnist": "mnist", "fashionmnist": "fashionmnist"}
SIFU = Path("unlearn", "mnist", "sifu", BLOCK, "cells.parquet")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = World(("mnist", "fashionmnist"), marks=PLAIN).write(tmp_path)
    (folder / SIFU.parent / "time.json").write_text('{"began": 5.0, "seconds": 2.0}\n')
    return folder


def only_packed(run: Path) -> Path:
    """What a clone has."""
    for path in run.iterdir():
        if path.name not in (FOLDER, "report", "null_space"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return run


def test_the_same_rows_with_the_same_stamps(run: Path, tmp_path: Path) -> None:
    whole = shutil.copytree(run, tmp_path / "whole")
    files = pack(run, DATASETS)
    assert {file.relative_to(run).parts[:2] for file in files} == {(FOLDER, name) for name in DATASETS}
    unpack(only_packed(run))
    for path in sorted(whole.rglob("s*/*.parquet")):
        own = run / path.relative_to(whole)
        assert pq.read_table(own).equals(pq.read_table(path), check_metadata=True)
    assert json.loads((run / SIFU.parent / "time.json").read_text()) == {"began": 5.0, "seconds": 2.0}


def test_a_block_from_before_a_column_stays_without_it(run: Path) -> None:
    """`later` columns of `cells`: the first block has none of them, the others do."""
    first = sorted(run.glob("unlearn/mnist/*/*/cells.parquet"))[0]
    later = [column.name for column in CELLS.columns if column.later]
    rows = pq.read_table(first)
    pq.write_table(rows.drop_columns([name for name in later if name in rows.column_names]), first)
    before = {path: pq.read_table(path) for path in run.glob("unlearn/mnist/*/*/cells.parquet")}
    assert len({len(table.column_names) for table in before.values()}) == 2
    pack(run, DATASETS)
    unpack(only_packed(run))
    assert all(pq.read_table(path).equals(table, check_metadata=True) for path, table in before.items())


def test_readers_unpack_for_themselves(run: Path) -> None:
    whole = read_tables(run).cells
    pack(run, DATASETS)
    assert read_tables(only_packed(run)).cells.equals(whole)


def test_new_files_of_a_run_are_kept_and_packed(run: Path, tmp_path: Path) -> None:
    """Another machine publishes FashionMNIST again, without SIFU; here scratch of MNIST was run since."""
    old = shutil.copytree(run, tmp_path / "other")
    pack(run, DATASETS)
    scratch = run / "unlearn" / "mnist" / "scratch" / BLOCK / "cells.parquet"
    later = (run / ".unpacked.json").stat().st_mtime_ns + 10**9
    os.utime(scratch, ns=(later, later))
    mine = scratch.read_bytes()
    shutil.rmtree(old / "unlearn" / "fashionmnist" / "sifu")
    pack(old, DATASETS)
    shutil.copytree(old / FOLDER, run / FOLDER, dirs_exist_ok=True)
    unpack(run)
    assert scratch.read_bytes() == mine
    assert scratch.stat().st_mtime_ns == later
    assert not (run / "unlearn" / "fashionmnist" / "sifu" / BLOCK / "cells.parquet").exists()
    assert (run / SIFU).exists()


def test_packing_again_changes_no_byte(run: Path) -> None:
    before = {file: file.read_bytes() for file in pack(run, DATASETS)}
    assert {file: file.read_bytes() for file in pack(only_packed(run), DATASETS)} == before


def test_a_table_whose_blocks_were_deleted_is_packed_no_longer(run: Path) -> None:
    """Of MNIST all verifications are deleted, of FashionMNIST everything."""
    pack(run, DATASETS)
    shutil.rmtree(run / "verify" / "mnist")
    for folder in run.glob("*/fashionmnist"):
        if folder.parent.name != FOLDER:
            shutil.rmtree(folder)
    pack(run, DATASETS)
    left = {path.name for path in (run / FOLDER / "mnist").iterdir()}
    assert "unlearn.cells.parquet" in left
    assert not [name for name in left if name.startswith("verify")]
    assert not list((run / FOLDER).glob("fashionmnist/*"))


@pytest.mark.parametrize(
    "place",
    [
        "../../evil/mnist/s000-002/cells.parquet",
        "/tmp/mnist/sifu/s000-002/cells.parquet",
        "unlearn/mnist/cells.parquet",
    ],
)
def test_a_place_outside_is_refused(run: Path, place: str) -> None:
    pack(run, DATASETS)
    packed = only_packed(run) / FOLDER / "mnist" / "unlearn.cells.parquet"
    rows = pq.read_table(packed)
    parts = json.loads(rows.schema.metadata[b"sifu.parts"])
    parts[0]["path"] = place
    pq.write_table(rows.replace_schema_metadata({b"sifu.parts": json.dumps(parts).encode()}), packed)
    with pytest.raises(StoreError, match="which is no place of a table"):
        unpack(run)


@pytest.mark.parametrize("parts", [b"[", b"[{}]", b'{"a": 1}', b"[]"])
def test_a_foreign_file_is_one_sentence(run: Path, parts: bytes) -> None:
    pack(run, DATASETS)
    packed = only_packed(run) / FOLDER / "mnist" / "unlearn.cells.parquet"
    pq.write_table(pq.read_table(packed).replace_schema_metadata({b"sifu.parts": parts}), packed)
    with pytest.raises(StoreError, match="is not a packed table"):
        unpack(run)


def test_a_scenario_that_is_not_planned_is_refused(run: Path) -> None:
    with pytest.raises(StoreError, match="of a scenario that the config does not plan"):
        pack(run, {"mnist": "mnist"})


def test_a_table_that_is_too_large_is_not_packed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its block stays where it is; without a limit it is packed."""
    size, name = (run / SIFU).stat().st_size, Path(FOLDER, "mnist", "unlearn.cells.parquet")
    largest = max(path.stat().st_size for path in run.glob("unlearn/mnist/*/*/cells.parquet"))
    monkeypatch.setattr(packed, "LARGEST", {"unlearn/cells": largest})
    assert run / name in pack(run, DATASETS)
    monkeypatch.setattr(packed, "LARGEST", {"unlearn/cells": 0})
    assert run / name not in pack(run, DATASETS)
    assert not (run / name).exists()
    unpack(run)
    assert (run / SIFU).stat().st_size == size


def test_where_nothing_was_run_there_is_nothing_to_pack(tmp_path: Path) -> None:
    """Neither an answer that looks like success, nor a file that says that all is unpacked."""
    (tmp_path / "report").mkdir()
    with pytest.raises(StoreError, match="there are no tables of a run under"):
        pack(tmp_path, DATASETS)
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
