"""PNG and JPEG to arrays. What a file says about itself is checked before any pixel is decoded."""

from __future__ import annotations

import io
import math
import struct
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sifu.data.dataset import Pixels
from sifu.data.png import has_all_rows
from sifu.errors import DataError

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS = ("PNG", "JPEG")  # Pillow knows dozens, and starts Ghostscript for one of them
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK")  # of at most 8 bits a channel
_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_HEADER = struct.Struct(">8s8xIIB")  # signature, length and name of the first chunk, width, height, bits
_START_OF_SCAN = b"\xff\xda"  # compressed data of a JPEG do not hold it
_MAX_BYTES = 2**21  # Pillow takes seconds for the header of a file of some MB that is written for it
_HEADER = 2**16  # bytes that a file of a known number of pixels may have besides them
_MAX_PIXELS = 2**24
_MAX_SIDE = 2**14  # Pillow takes a time for each row of a PNG: 16 million rows of one pixel are some kB
_MAX_WORK = 2**28  # pixels times scans: each scan of a progressive JPEG goes through all pixels


def read_image(path: Path, shape: tuple[int, int, int]) -> Pixels:
    """The image in a file, resized to `shape` (channels, height, width)."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            raise DataError(f"{path} does not decode as an image: no file of at most {_MAX_BYTES} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} does not decode as an image: {error.strerror}") from None
    return decode_image(data, shape, str(path), resize=True)


def decode_image(data: bytes, shape: tuple[int, int, int], where: str, *, resize: bool = False) -> Pixels:
    """An image of exactly `shape` (channels, height, width), or resized to it; `where` names it in errors."""
    from PIL import Image

    with warnings.catch_warnings():  # Pillow's remarks on odd files are of no use to a reader
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            _refuse_bytes(data, where, _MAX_BYTES if resize else _HEADER + 8 * math.prod(shape))
            with Image.open(io.BytesIO(data), formats=_FORMATS) as file:
                _refuse_header(file, data, shape, where, resize)
                if file.format == "PNG" and not has_all_rows(data):
                    raise DataError(f"{where} does not decode as an image: rows are missing at its end")
                image = file.convert("L" if shape[0] == 1 else "RGB")
            if resize:
                image = image.resize((shape[2], shape[1]), Image.Resampling.BILINEAR)
            array = np.asarray(image)
        except DataError:
            raise
        except Exception as error:  # of Pillow's readers: nearly any kind
            raise DataError(f"{where} does not decode as an image: {_sentence(error)}") from None
    return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)


def _refuse_bytes(data: bytes, where: str, limit: int) -> None:
    """Refuse by the bytes what Pillow would change in silence: it makes 255 of a grey of 40,000."""
    if len(data) > limit:
        raise DataError(f"{where} does not decode as an image: it has more than {limit} bytes")
    if not data.startswith(_PNG) or len(data) < _PNG_HEADER.size:
        return
    if data[12:16] != b"IHDR":
        raise DataError(f"{where} does not decode as an image: its first chunk is not its header")
    if _PNG_HEADER.unpack_from(data)[3] > 8:
        raise DataError(f"{where} has 16 bits a channel, expected at most 8")


def _refuse_header(file: Image, data: bytes, shape: tuple[int, int, int], where: str, resize: bool) -> None:
    width, height = file.size
    if file.mode not in _MODES:
        raise DataError(f"{where} is of Pillow's mode {file.mode}, expected at most 8 bits a channel")
    if not resize and (height, width) != shape[1:]:
        raise DataError(f"{where} is {width} x {height} pixels, expected {shape[2]} x {shape[1]}")
    if width * height > _MAX_PIXELS:
        raise DataError(f"{where} is {width} x {height} pixels, expected at most {_MAX_PIXELS:,} in all")
    if max(width, height) > _MAX_SIDE:
        raise DataError(f"{where} is {width} x {height} pixels, expected at most {_MAX_SIDE} on a side")
    if width * height * data.count(_START_OF_SCAN) > _MAX_WORK and file.format != "PNG":
        raise DataError(f"{where} is a JPEG of {data.count(_START_OF_SCAN)} scans, too many for its size")


def _sentence(error: Exception) -> str:
    if type(error).__name__ == "UnidentifiedImageError":
        return "it is neither a PNG nor a JPEG"  # Pillow names the object in memory
    return " ".join(str(error).split())[:200] or type(error).__name__
