"""Reads Parquet files of others: a small file may not fill the memory.

A file of some kB can announce billions of rows, or one long text a million times: what it unpacks to is compared with
its size, and texts are read as numbers of a dictionary, which is as small as in the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_FREE = 2**26  # bytes that any file may unpack to
_RATIO = 100  # times its own size that a file may unpack to; the suite's own tables: up to 20
_WIDTH = 8  # bytes of a value, at most, but for texts
_LIMITS = {"thrift_string_size_limit": 2**24, "thrift_container_size_limit": 2**20}  # of the description at its end


def open_parquet(path: Path, *, texts: Sequence[str] = (), checksums: bool = False) -> pq.ParquetFile:
    """A Parquet file whose announced contents fit into memory; `texts`: columns to read as dictionaries."""
    if not path.exists():
        raise FileNotFoundError(str(path))
    if not path.is_file():  # a pipe would wait for ever
        raise pa.ArrowInvalid("it is not a file")
    metadata = pq.read_metadata(path)
    _refuse_large(metadata, path.stat().st_size)
    columns = {metadata.schema.column(i).path for i in range(metadata.num_columns)}
    named = [name for name in texts if name in columns]
    return pq.ParquetFile(
        path, metadata=metadata, read_dictionary=named, page_checksum_verification=checksums, **_LIMITS
    )


def _refuse_large(metadata: pq.FileMetaData, size: int) -> None:
    packed = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    announced = max(packed, metadata.num_rows * _WIDTH * metadata.num_columns)
    if announced > _FREE + _RATIO * size:
        raise pa.ArrowInvalid(f"it would unpack from {size} to {announced} bytes")
