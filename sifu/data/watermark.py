"""Watermarks: a few pixels of every image of a client are set to the maximum (paper, section 4.3)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from sifu.config.partition import Watermark
from sifu.core.keys import Keys
from sifu.data.dataset import Pixels

_GROUPS = 10  # the paper's code marks client i with the pixels of i mod 10
_MAXIMUM = 255


def pixel_sets(watermark: Watermark, num_pixels: int, num_clients: int, key: Keys) -> NDArray[np.int64]:
    """The marked pixels of each client of one seed, numbered row by row. [C, pixels]"""
    owners = torch.arange(num_clients)
    if watermark.per == "group":
        owners = owners % _GROUPS
    order = key.fold("watermark").each(owners).permutation(num_pixels)  # [C, num_pixels]
    return order[:, : watermark.pixels].numpy()


def stamp(pixels: Pixels, marked: NDArray[np.int64]) -> Pixels:
    """A copy of the images [n, C, H, W] with the marked pixels [k] set to the maximum in every channel."""
    stamped = pixels.reshape(*pixels.shape[:2], -1).copy()  # [n, C, H * W]
    stamped[:, :, marked] = _MAXIMUM
    return stamped.reshape(pixels.shape)
