"""What a layer of models/stacked.py is given, and its sizes: the same for all models of a batch."""

from __future__ import annotations

from typing import NamedTuple

import triton
from torch import Tensor


class Shape(NamedTuple):
    """The input and output sizes of a layer, the same for every model."""

    channels: int
    side: int
    out_channels: int
    pool: int
    relu: bool = True
    padding: int = 0

    @property
    def out_side(self) -> int:
        return (self.side + 2 * self.padding - 2) // self.pool

    @property
    def constants(self) -> tuple[int, int, int, int, int]:
        """What the kernels are compiled for."""
        return self.channels, self.out_channels, columns(self.out_channels), self.pool, self.padding

    @property
    def block(self) -> int:
        """Size of a product's inner axis: the channels of a tap, or all nine taps of a first layer."""
        return min(self.channels, 64) if self.channels >= 16 else triton.next_power_of_2(9 * self.channels)


class Input(NamedTuple):
    """A layer's images: activations [G, B, H, W, channels], or `rows` [G, B] of a dataset [N, channels, H, W]."""

    images: Tensor
    rows: Tensor | None

    @property
    def strides(self) -> tuple[int, int, int, int]:
        """Strides of an example, a line, a column, a channel."""
        if self.rows is not None:
            example, channel, line, column = self.images.stride()
        else:
            _, example, line, column, channel = self.images.stride()
        return example, line, column, channel


def columns(channels: int) -> int:
    """Columns of a product: a power of two; matrix units need at least 16."""
    return max(16, triton.next_power_of_2(channels))
