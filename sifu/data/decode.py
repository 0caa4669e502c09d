"""PNG and JPEG to arrays."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np

from sifu.data.dataset import Pixels
from sifu.errors import DataError


def decode_image(source: Path | IO[bytes], channels: int, where: str, side: int | None = None) -> Pixels:
    """An image as [channels, height, width], resized to a square of `side` if given; `where` names it in errors."""
    from PIL import Image

    try:
        with Image.open(source) as file:
            image = file.convert("L" if channels == 1 else "RGB")
        if side is not None:
            image = image.resize((side, side), Image.Resampling.BILINEAR)
        array = np.asarray(image)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{where} does not decode as an image: {error}") from None
    return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
