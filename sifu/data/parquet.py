"""Images in Parquet: columns `image` (PNG or JPEG bytes), `label`, optionally `client` for natural partitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sifu.catalog.datasets import DATASETS
from sifu.data.dataset import Images, Labels, Pixels, Split
from sifu.data.decode import decode_image
from sifu.data.whole import whole_numbers
from sifu.errors import DataError
from sifu.store.bounded import open_parquet

_NAMES = ("image", "label", "client")
_SMALL = 2**30  # bytes of a file: its images are read as a dictionary, so that equal ones are there once
_BATCH = 256  # images of a larger file that are read at once
_RATIO = 20  # times its size that a larger file may unpack to: images are packed already


def load(name: str, root: Path, *, check_files: bool, download: bool) -> Images:
    """The two files of the source `parquet`: usually `root/name/train.parquet` and `test.parquet`."""
    spec = DATASETS[name]
    train, test = spec.sources["parquet"].files
    return Images(_split(root / train, spec.shape), _split(root / test, spec.shape))


def _split(path: Path, shape: tuple[int, int, int]) -> Split:
    table = _read(path)
    labels = _integers(table, "label", path)
    groups = _integers(table, "client", path) if "client" in table.column_names else None
    images = table.column("image")
    return Split(labels, lambda rows: _decode(images, rows, shape, path), groups)


def _read(path: Path) -> pa.Table:
    if not path.is_file():
        raise DataError(f"{path} is not a file")
    try:
        file = open_parquet(path, texts=["image"] if path.stat().st_size < _SMALL else [])
        _check_columns(file.schema_arrow, path)
        names = [name for name in _NAMES if name in file.schema_arrow.names]
        table = file.read(names) if path.stat().st_size < _SMALL else _read_large(file, names, path)
        table.validate()
    except (OSError, OverflowError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())[:300]
        raise DataError(f"{path} is not a readable Parquet file: {reason}") from None
    return table


def _read_large(file: pq.ParquetFile, names: list[str], path: Path) -> pa.Table:
    """Batch by batch, to see when there is more of it than its size explains."""
    batches, size = [], 0
    for batch in file.iter_batches(_BATCH, columns=names):
        batches.append(batch)
        size += batch.nbytes
        if size > _RATIO * path.stat().st_size:
            raise pa.ArrowInvalid(f"it unpacks to more than {_RATIO} times its size")
    return pa.Table.from_batches(batches)


def _check_columns(schema: pa.Schema, path: Path) -> None:
    for column in ("image", "label"):
        if schema.names.count(column) != 1:
            having = ", ".join(schema.names)[:200]
            raise DataError(f"{path} has no column {column}; it has {having}, expected image, label (and client)")
    kind = schema.field("image").type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise DataError(f"{path}: column image is {kind}, expected binary (PNG or JPEG bytes)")
    for column in ("label", "client"):
        if schema.names.count(column) > 1:
            raise DataError(f"{path} has several columns {column}")
        kind = schema.field(column).type if column in schema.names else pa.int64()
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise DataError(f"{path}: column {column} is {str(kind)[:100]}, expected whole numbers")


def _integers(table: pa.Table, column: str, path: Path) -> Labels:
    return whole_numbers(table.column(column).to_numpy(), column, str(path))


def _decode(images: pa.ChunkedArray, rows: NDArray[np.int64], shape: tuple[int, int, int], path: Path) -> Pixels:
    pixels = np.empty((len(rows), *shape), np.uint8)
    for place, row in enumerate(rows.tolist()):
        data = images[row].as_py()  # one by one: a dictionary's images are not copied for each row
        if data is None:
            raise DataError(f"{path}: image in row {row} is null")
        pixels[place] = decode_image(data, shape, f"{path}: image in row {row}")
    return pixels
