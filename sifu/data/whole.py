"""Labels and persons are whole numbers, whatever type a file has them in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sifu.data.dataset import Labels
from sifu.errors import DataError

_EXACT = 2**53  # whole numbers below it are exact as float64


def whole_numbers(values: NDArray[Any], name: str, where: str) -> Labels:
    """Numbers [N] as integers; one that is not whole, or too large, is refused by its row."""
    if values.dtype.kind not in "iuf":
        raise DataError(f"{where}: {name} is {values.dtype}, expected whole numbers")
    if values.dtype.kind in "iu" and values.dtype.itemsize < 8:
        return values.astype(np.int64)
    real = values.astype(np.float64)
    bad = np.flatnonzero(~(np.abs(real) <= _EXACT) | (real != np.floor(real)))
    if len(bad):
        raise DataError(f"{where}: {name} in row {bad[0]} is {values[bad[0]]}, expected a whole number")
    return values.astype(np.int64)
