"""How many rows a PNG really has: Pillow shows those that are missing as black, without a word."""

from __future__ import annotations

import struct
import zlib

_HEADER = struct.Struct(">IIBB2xB")  # width, height, bits, kind of colour, ..., whether it is interlaced
_HEADER_PLACE, _FIRST_CHUNK = 16, 8
_CHUNK = struct.Struct(">I4s")  # length, name; the content and 4 bytes of checksum follow
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by kind of colour
_WHOLE = ((0, 0, 1, 1),)
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_PART = 2**16  # bytes that are unpacked at once


def has_all_rows(data: bytes) -> bool:
    """Whether the packed pixels are as many bytes as the header announces."""
    enough = _announced(data)
    return _unpacked(data, enough) >= enough


def _announced(data: bytes) -> int:
    width, height, bits, kind, interlaced = _HEADER.unpack_from(data, _HEADER_PLACE)
    depth, size = bits * _CHANNELS[kind], 0
    for left, top, across, down in _PASSES if interlaced else _WHOLE:
        columns, rows = -((left - width) // across), -((top - height) // down)  # rounded up
        if columns > 0 and rows > 0:
            size += rows * (1 + -(-columns * depth // 8))  # a row begins with a byte that names its filter
    return size


def _unpacked(data: bytes, enough: int) -> int:
    """Bytes of all chunks of pixels, counted until there are enough."""
    unpacker, size, place = zlib.decompressobj(), 0, _FIRST_CHUNK
    while place + _CHUNK.size <= len(data) and size < enough:
        length, name = _CHUNK.unpack_from(data, place)
        place += _CHUNK.size
        part = data[place : place + length] if name == b"IDAT" else b""
        while part and size < enough:
            size += len(unpacker.decompress(part, _PART))
            part = unpacker.unconsumed_tail
        place += length + 4
    return size
