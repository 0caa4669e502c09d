"""The remaining clients that fare worst: a method may serve most of them well and a few badly."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sifu.errors import SifuError
from sifu.forgetting.sample import Floats

_DECILE = 10


def worst_decile(values: ArrayLike) -> Floats:
    """The mean over the tenth of the clients (at least one) with the lowest values, such as margins; [S, C] -> [S].

    Which clients these are is decided in each model.
    """
    numbers = np.asarray(values, np.float64)
    if numbers.ndim != 2 or not numbers.shape[1]:
        raise SifuError(f"a worst decile needs values [models, clients] of a client at least, not {numbers.shape}")
    return np.sort(numbers, axis=1)[:, : -(-numbers.shape[1] // _DECILE)].mean(1)
