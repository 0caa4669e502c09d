"""IDX, the format of MNIST's files, packed or not: a magic number, the sizes, the values in big-endian order.

torchvision reads only unpacked copies and takes a second to import; the whole format is read here.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sifu.data.checksum import check_checksum
from sifu.errors import DataError

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(root: Path, relative: str, *, check_files: bool = True) -> NDArray[Any]:
    """The array in `root/relative`, a .gz file; the unpacked file is read if there is no .gz."""
    path = root / relative
    if path.exists():
        if check_files:
            check_checksum(root, relative)
        return _parse(path, _read(path))
    unpacked = path.with_suffix("")
    if unpacked.exists():
        return _parse(unpacked, _read(unpacked))
    raise DataError(f"{path} is missing")


def _read(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path} cannot be unpacked, it is truncated or damaged: {error}") from None


def _parse(path: Path, data: bytes) -> NDArray[Any]:
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _TYPES:
        raise DataError(f"{path} is not an IDX file: it starts with {data[:4]!r}")
    rank = data[3]
    header = 4 + 4 * rank
    sizes = struct.unpack(f">{rank}I", data[4:header]) if len(data) >= header else ()
    dtype = np.dtype(_TYPES[data[2]])
    expected = header + int(np.prod(sizes, dtype=np.int64)) * dtype.itemsize
    if not sizes or len(data) != expected:
        raise DataError(f"{path} is truncated or damaged: {len(data)} bytes, its header announces {expected}")
    return np.frombuffer(data, dtype, offset=header).reshape(sizes)
