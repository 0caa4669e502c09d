"""The maximum of square windows that do not overlap, for images with channels last, and its gradient."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 1024


@triton.jit
def forward_kernel(
    x, y, which, count, out_width, channels, x_model, x_example, x_c, x_y, x_x, batch,
    SIZE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """y and which [G, B, out_height, out_width, channels]: the maximum of a window, and its place in the window.

    An example has `count` windows.
    """
    example = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ok = at < count
    channel, place = at % channels, at // channels
    line, column = place // out_width, place % out_width
    x += example // batch * x_model + example % batch * x_example
    x += channel * x_c + line * SIZE * x_y + column * SIZE * x_x
    y += example * count
    which += example * count
    best = tl.load(x, mask=ok, other=0.0)
    place = tl.zeros((BLOCK,), tl.int32)
    for number in tl.static_range(1, SIZE * SIZE):
        value = tl.load(x + (number // SIZE) * x_y + (number % SIZE) * x_x, mask=ok, other=0.0)
        larger = (value > best) | (value != value)  # a NaN is not hidden
        best, place = tl.where(larger, value, best), tl.where(larger, number, place)
    tl.store(y + at, best, mask=ok)
    tl.store(which + at, place.to(tl.int8), mask=ok)


@triton.jit
def gradient_kernel(
    slope, which, dx, count, width, out_height, out_width, channels, s_model, s_example, s_c, s_y, s_x, batch,
    SIZE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """dx [G, B, height, width, channels]: the slope at each window's maximum, zero elsewhere."""
    example = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    channel, place = at % channels, at // channels
    line, column = place // width, place % width
    out_y, out_x = line // SIZE, column // SIZE
    ok = (at < count) & (out_y < out_height) & (out_x < out_width)  # the last lines may be in no window
    which += example * out_height * out_width * channels
    found = tl.load(which + (out_y * out_width + out_x) * channels + channel, mask=ok, other=-1)
    mine = ok & (found == (line % SIZE) * SIZE + column % SIZE)
    slope += example // batch * s_model + example % batch * s_example + channel * s_c
    tl.store(
        dx + example * count + at, tl.load(slope + out_y * s_y + out_x * s_x, mask=mine, other=0.0), mask=at < count
    )


def forward(x: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Maxima [G, B, channels, H', W'] of `x` [G, B, channels, H, W], and where they are in their windows."""
    models, batch, channels, height, width = x.shape
    y = x.new_empty(models, batch, height // size, width // size, channels)
    which = torch.empty_like(y, dtype=torch.int8)
    if y.numel():
        count = y[0, 0].numel()
        forward_kernel[(models * batch, triton.cdiv(count, _BLOCK))](
            x, y, which, count, width // size, channels, *x.stride(), batch, size, _BLOCK
        )
    return y.permute(0, 1, 4, 2, 3), which


def gradient(slope: Tensor, which: Tensor, sides: torch.Size, size: int) -> Tensor:
    """The gradient of x [G, B, channels, H, W] with `sides` H, W from `slope` [G, B, channels, H', W']."""
    models, batch, out_height, out_width, channels = which.shape
    dx = slope.new_empty(models, batch, *sides, channels)
    if dx.numel():
        count = dx[0, 0].numel()
        gradient_kernel[(models * batch, triton.cdiv(count, _BLOCK))](
            slope, which, dx, count, sides[1], out_height, out_width, channels, *slope.stride(), batch, size, _BLOCK
        )
    return dx.permute(0, 1, 4, 2, 3)
