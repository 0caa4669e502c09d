"""IDX, the format of MNIST's files, packed or not: a magic number, the sizes, the values in big-endian order.

torchvision reads only unpacked copies and takes a second to import; the whole format is read here. What a header
announces is compared with limits before it is read: a few kB of gzip can be unpacked to GB.
"""

from __future__ import annotations

import math
import struct
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sifu.data.checksum import check_checksum
from sifu.errors import DataError

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_MAX_RANK = 4  # images with channels
_MAX_BYTES = 2**29  # ten times MNIST
_CHUNK = 2**16  # bytes that are unpacked at once


def read_idx(root: Path, relative: str, *, check_files: bool = True) -> NDArray[Any]:
    """The array in `root/relative`, a .gz file; the unpacked file is read if there is no .gz."""
    path = root / relative
    if path.exists():
        if check_files:
            check_checksum(root, relative)
        return _read(path)
    unpacked = path.with_suffix("")
    if unpacked.exists():
        return _read(unpacked)
    raise DataError(f"{path} is missing")


def _read(path: Path) -> NDArray[Any]:
    if not path.is_file():
        raise DataError(f"{path} is not a file")
    try:
        with path.open("rb") as stream:
            return _parse(path, _Unpacked(stream) if path.suffix == ".gz" else stream)
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path} cannot be unpacked, it is truncated or damaged: {error}") from None


class _Unpacked:
    """What gzip has packed into a file: Python's own reader takes seconds for a long name, or for many empty parts."""

    def __init__(self, packed: IO[bytes]) -> None:
        self.packed, self.unpacker = packed, zlib.decompressobj(16 + zlib.MAX_WBITS)  # 16: with gzip's header and sum

    def read(self, size: int) -> bytes:
        """The next bytes, fewer only at the end, where the sum of all has been compared."""
        parts = []
        while size > 0 and not self.unpacker.eof:
            source = self.unpacker.unconsumed_tail or self.packed.read(_CHUNK)
            if not source:
                raise EOFError("it ends too early")
            parts.append(self.unpacker.decompress(source, size))
            size -= len(parts[-1])
        if self.unpacker.eof and (self.unpacker.unused_data or self.packed.read(1)):
            raise OSError("something follows its end")
        return b"".join(parts)


_Stream = IO[bytes] | _Unpacked


def _parse(path: Path, stream: _Stream) -> NDArray[Any]:
    magic = stream.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _TYPES:
        raise DataError(f"{path} is not an IDX file: it starts with {magic!r}")
    rank, dtype = magic[3], np.dtype(_TYPES[magic[2]])
    if not 1 <= rank <= _MAX_RANK:
        raise DataError(f"{path} has {rank} axes, expected 1 to {_MAX_RANK}")
    sizes = stream.read(4 * rank)
    if len(sizes) < 4 * rank:
        raise DataError(f"{path} is truncated or damaged: it ends before its {rank} sizes")
    shape = struct.unpack(f">{rank}I", sizes)
    expected = math.prod(shape) * dtype.itemsize  # exact: integers of Python do not overflow
    if math.prod(size or 1 for size in shape) * dtype.itemsize > _MAX_BYTES:
        raise DataError(f"{path} announces values of shape {shape}, expected at most {_MAX_BYTES} bytes")
    return np.frombuffer(_values(path, stream, expected, 4 + 4 * rank), dtype).reshape(shape)


def _values(path: Path, stream: _Stream, expected: int, header: int) -> bytes:
    """The values, of which there must be as many as announced; the rest of a larger file is not unpacked."""
    data = stream.read(expected)
    more = stream.read(1)
    if len(data) < expected or more:
        count = f"{header + len(data)} bytes" if not more else f"more than {header + expected} bytes"
        raise DataError(f"{path} is truncated or damaged: {count}, its header announces {header + expected}")
    return data
