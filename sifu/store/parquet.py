"""Reads and writes Parquet tables and text files. A file is written completely or not at all."""

from __future__ import annotations

import glob
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import NoReturn

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sifu import RULES_VERSION
from sifu.errors import StoreError
from sifu.store.bounded import open_parquet
from sifu.store.place import refuse_misplaced
from sifu.store.possible import refuse_impossible
from sifu.store.provenance import Provenance
from sifu.store.table import Table

_PREFIX = b"sifu."
_HOST = socket.gethostname()
_STAMPED = {field.name for field in fields(Provenance)} - {"notes"}
_MAX_TEXT = 1000  # bytes; the longest are values of a search
MAKE_AGAIN = "delete it, and the next run makes it again"


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary file to write to; it is renamed to `path` only if no error occurs.

    A device, a pipe or a folder of that name is refused: renaming would replace it, even /dev/null for root.
    """
    if path.exists() and not path.is_file():
        raise StoreError(f"{path} is not a file: give the name of one")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{_HOST}.{os.getpid()}.tmp")
    _remove_leftovers(path)
    try:
        temporary.unlink(missing_ok=True)  # it could be a link to somewhere else
        temporary.touch()  # gives it the user's default permissions, which some writers do not set
        mode = temporary.stat().st_mode
        yield temporary
        temporary.chmod(mode)
        os.replace(temporary, path)
    except OSError as error:
        if error.filename is None and error.errno is not None:  # writers of tables do not say it
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from None
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files of killed processes of this machine that were writing `path`."""
    prefix = f".{path.name}.{_HOST}."
    for leftover in path.parent.glob(f"{glob.escape(prefix)}*.tmp"):
        number = leftover.name.removeprefix(prefix).removesuffix(".tmp")
        if number.isdigit() and not _is_running(int(number)):
            leftover.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)  # signal 0 only tests whether the process exists
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def write_table(
    path: Path, table: Table, frame: pd.DataFrame, provenance: Provenance, *, row_group_size: int | None = None
) -> None:
    """Write `frame` as `table`: cast, checked, sorted by its key, stamped; in row groups of so many rows."""
    rows = _arrow(table, frame)
    stamp = {_PREFIX + key.encode(): value.encode() for key, value in provenance.stamp().items()}
    with atomic(path) as temporary:
        pq.write_table(
            rows.replace_schema_metadata(stamp),
            temporary,
            row_group_size=row_group_size,
            compression="zstd",
            write_page_checksum=True,
        )  # zstd alone would not notice every flipped bit


def _arrow(table: Table, frame: pd.DataFrame) -> pa.Table:
    """`frame` with the columns and types of `table`, sorted by its key; refused if they do not fit."""
    wanted = [column.name for column in table.columns]
    missing = [name for name in wanted if name not in frame.columns]
    unknown = [name for name in frame.columns if name not in wanted]
    if missing or unknown:
        raise StoreError(f"table {table.name}: missing columns {missing}, unknown columns {unknown}; it has {wanted}")
    if frame.duplicated(list(table.key)).any():
        duplicate = frame.loc[frame.duplicated(list(table.key)), list(table.key)].iloc[0].to_dict()
        raise StoreError(f"table {table.name}: two rows with the key {duplicate}")
    try:
        rows = pa.Table.from_pandas(frame[wanted].sort_values(list(table.key)), table.schema, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"table {table.name}: {' '.join(str(error).split())}") from None
    for column in table.columns:
        if not column.nullable and rows.column(column.name).null_count:
            raise StoreError(f"table {table.name}: column {column.name} has empty values, which are not allowed")
    return rows


def read_table(path: Path, table: Table) -> pd.DataFrame:
    """The rows of a table file; refused if it was written under other rules."""
    return read_tables([path], table)


def read_tables(paths: Sequence[Path], table: Table) -> pd.DataFrame:
    """The rows of several files, one after another; for no files an empty table with the right types."""
    parts = [_checked(path, table) for path in paths]
    if not parts:
        return table.schema.empty_table().to_pandas()
    with readable(paths[0]):
        frame = pa.concat_tables(parts).to_pandas()
    if frame.duplicated(list(table.key)).any():
        _refuse_twice(paths, parts, table)
    return frame


def _refuse_twice(paths: Sequence[Path], parts: Sequence[pa.Table], table: Table) -> NoReturn:
    """Name the file in which the first row lies whose key was there before."""
    key = list(table.key)
    keys = pd.concat([part.select(key).to_pandas() for part in parts], keys=range(len(parts)))
    (number, _), row = next(keys[keys.duplicated()].iterrows())
    raise StoreError(f"{paths[int(number)]} holds a row that is there twice, with the key {str(row.to_dict())[:300]}")


def _checked(path: Path, table: Table) -> pa.Table:
    with readable(path):
        texts = [column.name for column in table.columns if column.type == pa.string()]
        file = open_parquet(path, texts=texts, checksums=True)
        check_schema(path, file.schema.to_arrow_schema().with_metadata(file.schema_arrow.metadata), table)
        rows = _with_later(file.read(use_threads=False), table)
        rows.validate(full=True)  # here, where the file's name is known: strings may be invalid UTF-8
        for name in texts:
            _refuse_long(path, name, rows.column(name))
        refuse_misplaced(path, table, rows)
        refuse_impossible(path, table, rows)
        return rows.cast(table.schema).replace_schema_metadata()


def _refuse_long(path: Path, name: str, values: pa.ChunkedArray) -> None:
    """A text is a name or a few words: before texts that are read once are copied for every row."""
    for chunk in values.chunks:
        longest = pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0
        if longest > _MAX_TEXT:
            raise StoreError(f"{path}: column {name} has a text of {longest} bytes, expected at most {_MAX_TEXT}")


def _with_later(rows: pa.Table, table: Table) -> pa.Table:
    """Columns that were added after the file was written, as nulls."""
    for place, column in enumerate(table.columns):
        if column.later and column.name not in rows.schema.names:
            rows = rows.add_column(place, table.schema.field(column.name), pa.nulls(len(rows), column.type))
    return rows


def check_schema(path: Path, schema: pa.Schema, table: Table) -> None:
    """Refuse a file that is no such table, or was made under other rules."""
    absent = {column.name for column in table.columns if column.later} - set(schema.names)
    if schema.remove_metadata() != pa.schema([field for field in table.schema if field.name not in absent]):
        raise StoreError(f"{path} is not a table {table.name}: its columns are {str(schema.names)[:300]}")
    check_rules(path, (schema.metadata or {}).get(_PREFIX + b"rules_version", b"none")[:40].decode())


def check_rules(path: Path, version: str) -> None:
    if version != RULES_VERSION:
        raise StoreError(f"{path} was made under the rules {version}, now they are {RULES_VERSION}: make it again")


def read_stamp(path: Path) -> dict[str, str]:
    """The provenance of a table; its rows are not read."""
    with readable(path):
        metadata = open_parquet(path).schema_arrow.metadata or {}
        ours = {key.removeprefix(_PREFIX): value for key, value in metadata.items() if key.startswith(_PREFIX)}
        stamp = {key.decode(): value.decode() for key, value in ours.items()}
    if not set(stamp) >= _STAMPED:
        raise StoreError(
            f"{path} does not say where it comes from: it has no {', '.join(sorted(_STAMPED - set(stamp)))}"
        )
    return stamp


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn any error of Arrow about a file into one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist: run the stage that makes it first") from None
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise StoreError(f"{path} is not a readable Parquet file: {reason}; {MAKE_AGAIN}") from None


def write_text(path: Path, text: str) -> None:
    with atomic(path) as temporary:
        temporary.write_text(text)
