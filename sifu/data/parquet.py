"""Images in Parquet: columns `image` (PNG or JPEG bytes), `label`, optionally `client` for natural partitions."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sifu.catalog.datasets import DATASETS
from sifu.data.dataset import Images, Labels, Pixels, Split
from sifu.data.decode import decode_image
from sifu.errors import DataError


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
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path} is not a readable Parquet file: {' '.join(str(error).split())}") from None
    for column in ("image", "label"):
        if column not in table.column_names:
            raise DataError(
                f"{path} has no column {column}; it has {', '.join(table.column_names)}, "
                "expected image, label (and client)"
            )
    kind = table.schema.field("image").type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise DataError(f"{path}: column image is {kind}, expected binary (PNG or JPEG bytes)")
    return table


def _integers(table: pa.Table, column: str, path: Path) -> Labels:
    values = table.column(column).to_numpy()
    if not np.issubdtype(values.dtype, np.number):
        raise DataError(f"{path}: column {column} is {table.schema.field(column).type}, expected whole numbers")
    bad = np.flatnonzero(~np.isfinite(values) | (values != np.floor(values)))
    if len(bad):
        raise DataError(f"{path}: {column} in row {bad[0]} is {values[bad[0]]}, expected a whole number")
    return values.astype(np.int64)


def _decode(images: pa.ChunkedArray, rows: NDArray[np.int64], shape: tuple[int, int, int], path: Path) -> Pixels:
    pixels = np.empty((len(rows), *shape), np.uint8)
    chosen = images.take(pa.array(rows)).to_pylist()
    for place, (row, data) in enumerate(zip(rows, chosen, strict=True)):
        pixels[place] = _decode_one(data, shape, f"{path}: image in row {row}")
    return pixels


def _decode_one(data: bytes | None, shape: tuple[int, int, int], where: str) -> Pixels:
    if data is None:
        raise DataError(f"{where} is null")
    array = decode_image(io.BytesIO(data), shape[0], where)
    if array.shape != shape:
        raise DataError(f"{where} is {array.shape[2]} x {array.shape[1]} pixels, expected {shape[2]} x {shape[1]}")
    return array
