"""Reads Parquet files of others: a small file may not fill the memory.

A file of some kB can announce billions of rows, or one long text a million times: what it unpacks to is compared with
its size, and texts are read as numbers of a dictionary, which is as small as in the file. So is the description at its
end, of which each byte may become hundreds.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_FREE = 2**26  # bytes that any file may unpack to
_RATIO = 100  # times its own size that a file may unpack to; the suite's own tables: up to 20
_WIDTH = 8  # bytes of a value, at most, but for texts
_DESCRIPTION = 3 * 2**20  # bytes of the description at its end that any file may have; the suite's own: up to 240 kB
_DESCRIBED = 2  # times the rest of a file that it may have else: margins have a row group a model
_END = struct.Struct("<I4s")  # length of the description, and the format's name
_LIMITS = {"thrift_string_size_limit": 2**24, "thrift_container_size_limit": 2**20}  # of the description at its end


def open_parquet(path: Path, *, texts: Sequence[str] = (), checksums: bool = False) -> pq.ParquetFile:
    """A Parquet file whose announced contents fit into memory; `texts`: columns to read as dictionaries."""
    if not path.exists():
        raise FileNotFoundError(str(path))
    if not path.is_file():  # a pipe would wait for ever
        raise pa.ArrowInvalid("it is not a file")
    _refuse_description(path)
    metadata = pq.read_metadata(path)
    _refuse_large(metadata, path.stat().st_size)
    columns = {metadata.schema.column(i).path for i in range(metadata.num_columns)}
    named = [name for name in texts if name in columns]
    return pq.ParquetFile(
        path, metadata=metadata, read_dictionary=named, page_checksum_verification=checksums, **_LIMITS
    )


def _refuse_description(path: Path) -> None:
    """Before it is read: column after column of three bytes each took 200 times as much memory."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _END.size))
        end = file.read(_END.size)
    length = _END.unpack(end)[0] if len(end) == _END.size else 0
    if length > max(_DESCRIPTION, _DESCRIBED * (size - length)):
        raise pa.ArrowInvalid(f"it is cut off or damaged ({size} bytes)")


def _refuse_large(metadata: pq.FileMetaData, size: int) -> None:
    packed = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    announced = max(packed, metadata.num_rows * _WIDTH * metadata.num_columns)
    if announced > _FREE + _RATIO * size:
        raise pa.ArrowInvalid(f"it would unpack from {size} to {announced} bytes")
