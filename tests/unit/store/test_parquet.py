"""The writer casts, refuses, sorts and stamps, and never leaves a half-written file."""

from __future__ import annotations

import contextlib
import errno
import os
from dataclasses import fields, replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from sifu import RULES_VERSION
from sifu.catalog.lookup import resolve
from sifu.core.keys import Keys
from sifu.errors import StoreError
from sifu.federation import segment_file
from sifu.federation.segment import Segment
from sifu.federation.stop import Stop
from sifu.plan.stage_spec import STAGES
from sifu.store import parquet as store
from sifu.store import tensors
from sifu.store.provenance import Provenance, provenance
from sifu.store.report_schemas import BOUNDS, CERTIFICATES, FRONTIER, STATISTICS
from sifu.store.schemas import CURVES, PARTITION
from sifu.store.table import Column
from tests.conftest import tiny_engine

STAMP = provenance("test", {"a": 1}, "code", "cpu", moved={0: 3})
GOOD = pd.DataFrame({"scenario": "x", "seed": [1, 0], "client": 0, "place": 0, "row": [5, 6], "label": 1})


def test_rows_come_back_sorted_and_stamped(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "partition.parquet"
    store.write_table(path, PARTITION, GOOD, STAMP)
    assert store.read_table(path, PARTITION)["row"].tolist() == [6, 5]
    stamp = store.read_stamp(path)
    assert stamp["rules_version"] == RULES_VERSION
    assert stamp["settings"] == '{"a": 1}'
    assert stamp["notes"] == '{"moved": {"0": 3}}'
    assert set(stamp) == {field.name for field in fields(Provenance)}
    assert pq.read_schema(path).remove_metadata() == PARTITION.schema
    assert [p.name for p in path.parent.iterdir()] == ["partition.parquet"]


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        store.write_table(tmp_path / name, PARTITION, GOOD.sample(frac=1, random_state=len(name)), STAMP)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (GOOD.drop(columns="row"), "missing columns \\['row'\\]"),
        (GOOD.assign(extra=1), "unknown columns \\['extra'\\]"),
        (pd.concat([GOOD, GOOD]), "two rows with the key"),
        (GOOD.assign(label="five"), "table partition: "),
        (GOOD.assign(label=[1.5, 2.0]), "table partition: "),
        (GOOD.assign(label=[None, 1]), "table partition: "),
    ],
)
def test_what_is_refused_leaves_no_file(tmp_path: Path, frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        store.write_table(tmp_path / "t.parquet", PARTITION, frame, STAMP)
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_or_a_folder_is_not_replaced(tmp_path: Path) -> None:
    """For root a rename would put a plain file in the place of /dev/null; a pipe stands for it here."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(StoreError, match="is not a file"):
            store.write_text(tmp_path / name, "text")
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    store.write_table(path, PARTITION, GOOD, STAMP)
    before = path.read_bytes()

    def broken(table: object, where: Path, **_: object) -> None:
        where.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(store.pq, "write_table", broken)
    with pytest.raises(OSError, match="disk full"):
        store.write_table(path, PARTITION, GOOD, STAMP)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_bad_files_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"does not exist: run the stage"):
        store.read_table(tmp_path / "none.parquet", PARTITION)
    (tmp_path / "junk.parquet").write_text("junk")
    with pytest.raises(StoreError, match="not a readable Parquet file"):
        store.read_table(tmp_path / "junk.parquet", PARTITION)
    store.write_table(tmp_path / "p.parquet", PARTITION, GOOD, STAMP)
    with pytest.raises(StoreError, match="is not a table curves"):
        store.read_table(tmp_path / "p.parquet", CURVES)
    (tmp_path / "junk.safetensors").write_text("junk")
    with pytest.raises(StoreError, match="not a readable safetensors file"):
        segment_file.read_history(tmp_path / "junk.safetensors")
    with pytest.raises(StoreError, match="run the stage that makes it first"):
        segment_file.read_history(tmp_path / "none.safetensors")
    tensors.write_weights(tmp_path / "w.safetensors", {"a": torch.zeros(2)}, STAMP)
    assert torch.equal(tensors.read_weights(tmp_path / "w.safetensors")["a"], torch.zeros(2))
    with pytest.raises(StoreError, match="holds weights, not a history"):
        segment_file.read_history(tmp_path / "w.safetensors")


def test_a_flipped_bit_is_never_another_value(tmp_path: Path) -> None:
    """Wherever it is: one sentence, or the same rows (in bytes that are not read)."""
    path = tmp_path / "t.parquet"
    store.write_table(path, PARTITION, GOOD, STAMP)
    content, rows = path.read_bytes(), store.read_table(path, PARTITION)
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with contextlib.suppress(StoreError):
            pd.testing.assert_frame_equal(store.read_table(path, PARTITION), rows)


def test_results_of_other_rules_are_not_mixed(tmp_path: Path) -> None:
    old = Provenance("test", "{}", "code", "cpu", rules_version="0.0")
    store.write_table(tmp_path / "old.parquet", PARTITION, GOOD, old)
    with pytest.raises(StoreError, match=r"made under the rules 0\.0"):
        store.read_table(tmp_path / "old.parquet", PARTITION)


def test_a_history_is_read_as_it_was_written(tmp_path: Path) -> None:
    engine, keys = tiny_engine(), Keys.of(range(2))
    everyone = torch.ones_like(engine.clients.size, dtype=torch.bool)
    stop = Stop(None, 0, torch.tensor([5, 3]))
    segment = engine.run(engine.model.init(keys), everyone, keys.fold("train"), stop, snapshot_every=2)
    segment_file.write_segment(tmp_path / "h.safetensors", segment, STAMP)
    again = segment_file.read_history(tmp_path / "h.safetensors").segment
    for field in fields(Segment):
        before, after = getattr(segment, field.name), getattr(again, field.name)
        if isinstance(before, torch.Tensor):
            assert torch.equal(before, after), field.name
        elif field.name != "trace":
            assert before == after, field.name
    for name in ("cohort", "distance", "update_norm", "layer_norm", "step_norm"):
        assert torch.equal(getattr(segment.trace, name), getattr(again.trace, name))
    assert torch.equal(engine.replay(again, torch.tensor([4, 1])), engine.replay(segment, torch.tensor([4, 1])))


def test_schemas_are_well_formed() -> None:
    stored = [resolve(target) for spec in STAGES.values() for target in spec.tables.values()]
    for table in (*stored, STATISTICS, BOUNDS, CERTIFICATES, FRONTIER):
        names = [column.name for column in table.columns]
        assert len(set(names)) == len(names)
        assert set(table.key) <= set(names)
        assert not any(column.nullable for column in table.columns if column.name in table.key)
        assert all(column.meaning for column in table.columns)


def test_a_column_that_came_later_is_null_in_tables_without_it(tmp_path: Path) -> None:
    """Any other column that is missing, or a file of another table, is refused as before."""
    new = replace(PARTITION, columns=(*PARTITION.columns, Column("weight", pa.float64(), "a number", True, later=True)))
    store.write_table(tmp_path / "old.parquet", PARTITION, GOOD, STAMP)
    read = store.read_table(tmp_path / "old.parquet", new)
    assert read["weight"].isna().all()
    assert read[list(GOOD.columns)].equals(store.read_table(tmp_path / "old.parquet", PARTITION))
    store.write_table(tmp_path / "new.parquet", new, GOOD.assign(seed=GOOD["seed"] + 100, weight=1.0), STAMP)
    both = store.read_tables([tmp_path / "old.parquet", tmp_path / "new.parquet"], new)
    assert both["weight"].notna().sum() == len(GOOD)
    needed = replace(new, columns=(*PARTITION.columns, Column("weight", pa.float64(), "a number", True)))
    with pytest.raises(StoreError, match="is not a table partition"):
        store.read_table(tmp_path / "old.parquet", needed)


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path: Path) -> None:
    """PyArrow's writer says "Error writing bytes to file" and no name; what has one keeps its own."""
    with (
        pytest.raises(OSError, match=r"No space left on device: .*table\.parquet"),
        store.atomic(tmp_path / "table.parquet"),
    ):
        raise OSError(errno.ENOSPC, "Error writing bytes to file")
    with pytest.raises(FileNotFoundError, match="elsewhere"), store.atomic(tmp_path / "table.parquet"):
        Path(tmp_path, "elsewhere").read_bytes()
    assert list(tmp_path.iterdir()) == []
