"""The remaining clients that fare worst: a method may serve most of them well and a few badly."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sifu.errors import SifuError
from sifu.forgetting.sample import Floats

_DECILE = 10


def worst_decile(values: ArrayLike, remaining: ArrayLike) -> Floats:
    """The mean over the tenth of the remaining clients (at least one) with the lowest values, such as accuracy, mean
    margin, or either minus scratch's; values [S, C] and remaining [S, C] bool -> [S].
    """
    numbers, kept = np.asarray(values, np.float64), np.asarray(remaining, bool)
    if numbers.shape != kept.shape or numbers.ndim != 2 or not kept.any(1).all():
        raise SifuError("a worst decile needs values and flags [seeds, clients], and a remaining client in every seed")
    ordered = np.sort(np.where(kept, numbers, np.inf), axis=1)  # forgotten clients come last
    counts = -(-kept.sum(1) // _DECILE)  # [S]
    taken = np.arange(numbers.shape[1]) < counts[:, None]
    return np.where(taken, ordered, 0.0).sum(1) / counts
