"""A table that lies where it does not belong is refused by whoever reads it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sifu.errors import StoreError
from sifu.plan.report_plan import Job, ReportPlan
from sifu.report.results import Results
from sifu.store.experiment_schemas import ALPHA
from sifu.store.parquet import read_stamp, read_table, read_tables, write_table
from sifu.store.provenance import provenance
from sifu.store.schemas import CELLS, METRICS
from sifu.store.table import Table
from tests.memory import bounded_memory

STAMP = provenance("test", {}, "code", "cpu")


def frame(table: Table, rows: list[dict[str, Any]]) -> pd.DataFrame:
    needed = {c.name: "x" if str(c.type) == "string" else 1 for c in table.columns if not c.nullable}
    return pd.DataFrame([needed | row for row in rows], columns=[column.name for column in table.columns])


def cells(variant: str = "sifu", scenario: str = "smoke", seeds: tuple[int, ...] = (0, 1)) -> list[dict[str, Any]]:
    return [{"scenario": scenario, "variant": variant, "stop": "target", "seed": seed, "request": 1} for seed in seeds]


def put(root: Path, folder: str, rows: list[dict[str, Any]], table: Table = CELLS) -> Path:
    path = root / folder / f"{table.name}.parquet"
    write_table(path, table, frame(table, rows), STAMP)
    return path


@pytest.mark.parametrize(
    ("folder", "rows", "message"),
    [
        ("unlearn/smoke/sifu/s000-001", cells("scratch"), "rows of variant scratch, expected sifu there"),
        ("unlearn/smoke/sifu/s000-001", cells() + cells("scratch"), "rows of variant scratch, sifu, expected sifu"),
        ("unlearn/smoke/sifu/s000-001", cells(scenario="mnist"), "rows of scenario mnist, its path says another one"),
        ("unlearn/smoke/sifu/s000-001", cells() + cells(scenario="mnist"), "rows of scenario mnist, smoke"),
        ("unlearn/smoke/sifu/s000-001", cells(seeds=(2, 3)), "rows of seed 2, 3, its path says 0 to 1"),
        ("unlearn/smoke/sifu/s000-001", cells(seeds=(0,)), "rows of 1 of the 2 seeds of its block"),
        ("train/smoke/s000-001", cells("sifu"), "rows of variant sifu, expected train there"),
        ("train/smoke/dp/s000-001", cells("train"), "rows of variant train, expected dp there"),
    ],
)
def test_misplaced_cells_are_refused(tmp_path: Path, folder: str, rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(StoreError, match=message):
        read_table(put(tmp_path, folder, rows), CELLS)


@pytest.mark.parametrize(
    ("folder", "rows"),
    [
        ("unlearn/smoke/sifu/s000-001", cells()),
        ("unlearn/sifu/sifu/s000-001", cells(scenario="sifu")),
        ("train/smoke/s000-001", cells("train")),
        ("train/train/s000-001", cells("train", scenario="train")),
        ("train/smoke/dp/s000-001", cells("dp")),
        ("anywhere", cells("other", seeds=(7,))),
    ],
)
def test_cells_that_belong_are_read(tmp_path: Path, folder: str, rows: list[dict[str, Any]]) -> None:
    assert len(read_table(put(tmp_path, folder, rows), CELLS)) == len(rows)


def test_alpha_by_its_change(tmp_path: Path) -> None:
    rows = [{"scenario": "alpha", "seed": 0, "change": change} for change in ("", "no_momentum")]
    assert len(read_table(put(tmp_path, "alpha/alpha/s000-000", rows[:1], ALPHA), ALPHA)) == 1
    assert len(read_table(put(tmp_path, "alpha_sweep/alpha/no_momentum/s000-000", rows[1:], ALPHA), ALPHA)) == 1
    with pytest.raises(StoreError, match=r"rows of change no_momentum, expected (none|alpha)"):
        read_table(put(tmp_path, "alpha/alpha/s000-000", rows[1:], ALPHA), ALPHA)


def test_scratch_in_the_folder_of_sifu_is_not_counted(tmp_path: Path) -> None:
    """It gave "4 of 4" for two seeds, without a word."""
    jobs = [Job("smoke", "s000-001", variant) for variant in ("scratch", "sifu")]
    for variant in ("scratch", "sifu"):
        put(tmp_path, f"unlearn/smoke/{variant}/s000-001", cells("scratch"))
    with pytest.raises(StoreError, match=r"unlearn/smoke/sifu/s000-001/cells\.parquet holds rows of variant scratch"):
        _ = Results(ReportPlan(str(tmp_path), jobs={"unlearn": jobs})).cells


@pytest.mark.parametrize(
    ("column", "value"),
    [("client_steps", -1), ("rounds", -5), ("comm_floats", 2**62), ("request", -1), ("value", None)],
)
def test_impossible_numbers_are_refused(tmp_path: Path, column: str, value: int | None) -> None:
    """A cost below nothing, one whose sum wraps around, and no number at all, which the writer refuses."""
    table = METRICS if column == "value" else CELLS
    path = put(tmp_path, "x", cells(), table)
    rows = pq.read_table(path)
    place, field = rows.schema.get_field_index(column), rows.schema.field(column)
    bad = pa.array([float("nan") if value is None else value] * len(rows), field.type)
    bad = pa.concat_arrays([bad[:1], rows.column(column).combine_chunks()[1:]])
    pq.write_table(rows.set_column(place, field, bad), path)
    with pytest.raises(StoreError, match=rf"x/{table.name}\.parquet: column {column} has"):
        read_table(path, table)


def twice(path: Path) -> None:
    """The rows of a file two times, which the writer refuses to write."""
    rows = pq.read_table(path)
    pq.write_table(pa.concat_tables([rows, rows]), path)


def test_keys_are_unique_in_a_file_and_over_files(tmp_path: Path) -> None:
    path = put(tmp_path, "verify/smoke/s000-001", cells(), METRICS)
    other = put(tmp_path, "copy", cells(), METRICS)
    with pytest.raises(StoreError, match=r"copy/metrics\.parquet holds a row that is there twice, with the key"):
        read_tables([path, other], METRICS)
    twice(path)
    with pytest.raises(StoreError, match="holds a row that is there twice"):
        read_table(path, METRICS)


@pytest.mark.second
def test_a_small_table_fills_no_memory(tmp_path: Path) -> None:
    """Four million equal rows in some kB."""
    schema = CELLS.schema.with_metadata({"sifu.rules_version": read_rules(tmp_path)})
    values = {field.name: pa.scalar("x" if field.type == pa.string() else 1).cast(field.type) for field in schema}
    group = {name: pa.repeat(value, 10**6) for name, value in values.items()}
    path = tmp_path / "many.parquet"
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for _ in range(4):
            writer.write_table(pa.table(group, schema))
    del group
    with bounded_memory(100), pytest.raises(StoreError, match="it would unpack from"):
        read_table(path, CELLS)


def read_rules(root: Path) -> str:
    return read_stamp(put(root, "rules", cells()))["rules_version"]


def test_a_long_text_is_refused_before_it_is_copied(tmp_path: Path) -> None:
    path = put(tmp_path, "x", cells(scenario="s" * 1001, seeds=tuple(range(1000))))
    with pytest.raises(StoreError, match="column scenario has a text of 1001 bytes, expected at most 1000"):
        read_table(path, CELLS)


def test_a_stamp_that_lacks_something_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path, "x", cells())
    rows = pq.read_table(path)
    pq.write_table(rows.replace_schema_metadata({"sifu.rules_version": "1"}), path)
    with pytest.raises(StoreError, match="does not say where it comes from: it has no code_hash"):
        read_stamp(path)


def test_a_long_description_is_not_read(tmp_path: Path) -> None:
    """Four times 400,000 columns of three bytes each in the description at the end: 5 MB took a gigabyte."""
    columns = b"\x19\xfc\x80\xb5\x18" + b"\x26\x00\x00" * 400_000  # in Thrift's compact protocol
    group = columns + b"\x16\x00\x16\x00\x00"  # no bytes, no rows
    text = b"\x15\x02\x19\x1c\x48\x01r\x15\x00\x00\x16\x00\x19\x4c" + group * 4 + b"\x00"
    (tmp_path / "x.parquet").write_bytes(b"PAR1" + text + struct.pack("<I", len(text)) + b"PAR1")
    with bounded_memory(50), pytest.raises(StoreError, match=r"it is cut off or damaged \(\d+ bytes\)"):
        read_stamp(tmp_path / "x.parquet")
