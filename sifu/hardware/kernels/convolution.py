"""3x3 convolution, max-pooling and ReLU of many models at once, and their gradients: implicit matrix products.

Every model g has its own weights. cuDNN has no such operation (grouped convolutions with one group per model come
closest, and are several times slower), and writing out the patches, as im2col does, moves nine times the images.

Activations are [G, B, H, W, channels], weights [G, 9 taps * channels in + 1, channels out], the bias last. A row of a
matrix product is a position, its inner axis the channels of a tap. Pooling is part of the product: the POOL^2 positions
under a window are computed side by side, and the largest, with its number `arg`, is all that is stored.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from sifu.hardware.kernels.layer import Input, Shape, columns

# Sizes of blocks, warps and stages below are the best of a search on an H200 (docs/performance.md).


@triton.jit
def _patch(
    x, corner, line, column, row_ok, tap, channel_0, height, width, x_y, x_x, x_c,
    CIN: tl.constexpr, PADDED: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """What one tap's channels see from positions whose first tap is at `line` and `column`; zero outside of the image.

    A first layer has all 9 taps in one block. [rows, BLOCK_K]
    """
    k = tl.arange(0, BLOCK_K)
    if CIN < BLOCK_K:  # few channels: the block holds (tap, channel) pairs
        tap, channel = (k // CIN)[None, :], (k % CIN)[None, :]
        ok = row_ok[:, None] & (k < 9 * CIN)[None, :]
        if PADDED:
            y, to_x = line[:, None] + tap // 3, column[:, None] + tap % 3
            ok = ok & (y >= 0) & (y < height) & (to_x >= 0) & (to_x < width)
        offset = (tap // 3) * x_y + (tap % 3) * x_x + channel * x_c
    else:
        row = row_ok
        if PADDED:
            y, to_x = line + tap // 3, column + tap % 3
            row = row & (y >= 0) & (y < height) & (to_x >= 0) & (to_x < width)
        ok = row[:, None]
        offset = ((tap // 3) * x_y + (tap % 3) * x_x + (channel_0 + k) * x_c)[None, :]
    return tl.load(x + (corner[:, None] + offset), mask=ok, other=0.0)


@triton.jit
def _larger(value, number, best, which):
    """The larger of two values of a window, and the number of its position. A NaN is not hidden."""
    larger = (value > best) | (value != value)
    return tl.where(larger, value, best), tl.where(larger, number, which)


@triton.jit
def forward_kernel(
    x, index, w, y, arg,
    batch, height, width, out_height, out_width,
    x_example, x_y, x_x, x_c, w_model,
    CIN: tl.constexpr, COUT: tl.constexpr, COLUMNS: tl.constexpr, POOL: tl.constexpr, PAD: tl.constexpr,
    RELU: tl.constexpr, INDEXED: tl.constexpr, FINDS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """y [G, B, out_height, out_width, COUT] = pool(conv(x)) + bias, then a ReLU if RELU; arg: which position of its
    window. A product has COLUMNS columns, COUT of them used.
    """
    model = tl.program_id(1)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    positions = out_height * out_width
    row_ok = rows < batch * positions
    example = model * batch + rows // positions
    place = rows % positions
    if INDEXED:
        example = tl.load(index + example, mask=row_ok, other=0)
    line, column = (place // out_width) * POOL - PAD, (place % out_width) * POOL - PAD
    corner = example.to(tl.int64) * x_example + line * x_y + column * x_x
    out = tl.arange(0, COLUMNS)
    out_ok = out < COUT
    w += model.to(tl.int64) * w_model
    best = tl.zeros((BLOCK_M, COLUMNS), tl.float32)
    second, third, fourth = best, best, best  # one per position of a window; weights are read once for all of them
    a_tap: tl.constexpr = (
        1 if CIN < BLOCK_K else CIN // BLOCK_K
    )  # blocks per tap; with few channels one block holds all nine taps
    for block in range(0, 1 if CIN < BLOCK_K else 9 * a_tap):
        tap, channel_0 = block // a_tap, block % a_tap * BLOCK_K
        k = block * BLOCK_K + tl.arange(0, BLOCK_K)
        weight_ok = (k < 9 * CIN)[:, None] & out_ok[None, :]
        weight = tl.load(w + k[:, None] * COUT + out[None, :], mask=weight_ok, other=0.0)
        patch = _patch(
            x, corner, line, column, row_ok, tap, channel_0, height, width, x_y, x_x, x_c, CIN, PAD > 0, BLOCK_K
        )
        best = tl.dot(patch, weight, best, input_precision=PRECISION)
        if POOL == 2:
            patch = _patch(
                x, corner + x_x, line, column + 1, row_ok, tap, channel_0,
                height, width, x_y, x_x, x_c, CIN, PAD > 0, BLOCK_K,
            )  # fmt: skip
            second = tl.dot(patch, weight, second, input_precision=PRECISION)
            patch = _patch(
                x, corner + x_y, line + 1, column, row_ok, tap, channel_0,
                height, width, x_y, x_x, x_c, CIN, PAD > 0, BLOCK_K,
            )  # fmt: skip
            third = tl.dot(patch, weight, third, input_precision=PRECISION)
            patch = _patch(
                x, corner + x_y + x_x, line + 1, column + 1, row_ok, tap, channel_0,
                height, width, x_y, x_x, x_c, CIN, PAD > 0, BLOCK_K,
            )  # fmt: skip
            fourth = tl.dot(patch, weight, fourth, input_precision=PRECISION)
    which = tl.zeros((BLOCK_M, COLUMNS), tl.int32)
    if POOL == 2:
        best, which = _larger(second, 1, best, which)
        best, which = _larger(third, 2, best, which)
        best, which = _larger(fourth, 3, best, which)
    best += tl.load(w + 9 * CIN * COUT + out, mask=out_ok, other=0.0)[None, :]  # the bias
    if RELU:
        best = tl.where(best < 0, 0.0, best)  # not a maximum: that would hide a NaN
    to = (model.to(tl.int64) * batch * positions + rows)[:, None] * COUT + out[None, :]
    ok = row_ok[:, None] & out_ok[None, :]
    tl.store(y + to, best, mask=ok)
    if FINDS:
        tl.store(arg + to, which.to(tl.int8), mask=ok)


@triton.jit
def weight_gradient_kernel(
    x, index, slope, arg, dw,
    batch, height, width, out_height, out_width,
    x_example, x_y, x_x, x_c, dw_split, dw_model,
    CIN: tl.constexpr, COUT: tl.constexpr, COLUMNS: tl.constexpr, POOL: tl.constexpr, PAD: tl.constexpr,
    INDEXED: tl.constexpr, SPLIT_ROWS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dw [splits, G, 9 * CIN + 1, COUT] from slope [G, B, out_height, out_width, COUT]; splits must be added up."""
    block, model, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    positions = out_height * out_width
    tap, channel_0 = block * BLOCK_K // CIN, block * BLOCK_K % CIN
    out = tl.arange(0, COLUMNS)
    out_ok = out < COUT
    end = tl.minimum((split + 1) * SPLIT_ROWS, batch * positions)
    total = tl.zeros((BLOCK_K, COLUMNS), tl.float32)
    bias = tl.zeros((COLUMNS,), tl.float32)
    for first in range(0, SPLIT_ROWS, BLOCK_M):
        rows = split * SPLIT_ROWS + first + tl.arange(0, BLOCK_M)
        row_ok = rows < end
        example, place = model * batch + rows // positions, rows % positions
        if INDEXED:
            example = tl.load(index + example, mask=row_ok, other=0)
        line, column = (place // out_width) * POOL - PAD, (place % out_width) * POOL - PAD
        corner = example.to(tl.int64) * x_example + line * x_y + column * x_x
        at = (model.to(tl.int64) * batch * positions + rows)[:, None] * COUT + out[None, :]
        ok = row_ok[:, None] & out_ok[None, :]
        pooled = tl.load(slope + at, mask=ok, other=0.0)
        bias += tl.sum(pooled, 0)
        if POOL > 1:
            which = tl.load(arg + at, mask=ok, other=0)
        for s in tl.static_range(POOL * POOL):
            patch = _patch(
                x, corner + (s // POOL) * x_y + (s % POOL) * x_x, line + s // POOL, column + s % POOL,
                row_ok, tap, channel_0, height, width, x_y, x_x, x_c, CIN, PAD > 0, BLOCK_K,
            )  # fmt: skip
            own = tl.where(which == s, pooled, 0.0) if POOL > 1 else pooled
            total = tl.dot(tl.trans(patch), own, total, input_precision=PRECISION)
    k = block * BLOCK_K + tl.arange(0, BLOCK_K)
    dw += split.to(tl.int64) * dw_split + model.to(tl.int64) * dw_model
    tl.store(dw + k[:, None] * COUT + out[None, :], total, mask=(k < 9 * CIN)[:, None] & out_ok[None, :])
    if block == 0:
        tl.store(dw + 9 * CIN * COUT + out, bias, mask=out_ok)


@triton.jit
def input_gradient_kernel(
    x, slope, arg, w, dx,
    batch, height, width, out_height, out_width, w_model,
    CIN: tl.constexpr, COUT: tl.constexpr, COLUMNS: tl.constexpr, POOL: tl.constexpr, PAD: tl.constexpr,
    RELU: tl.constexpr, CHANNELS: tl.constexpr, BLOCK_M: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dx [G, B, height, width, CIN] from slope; if RELU, zero where the ReLU that made x was off."""
    model = tl.program_id(1)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    row_ok = rows < batch * height * width
    example, place = rows // (height * width), rows % (height * width)
    py, px = place // width + PAD, place % width + PAD
    out, channel = tl.arange(0, COLUMNS), tl.arange(0, CHANNELS)
    out_ok, channel_ok = out < COUT, channel < CIN
    w += model.to(tl.int64) * w_model
    first = (model.to(tl.int64) * batch + example) * out_height * out_width
    total = tl.zeros((BLOCK_M, CHANNELS), tl.float32)
    for tap in range(9):
        cy, cx = py - tap // 3, px - tap % 3  # the convolution's position that saw x through this tap
        oy, ox = cy // POOL, cx // POOL
        ok = row_ok & (cy >= 0) & (cx >= 0) & (oy < out_height) & (ox < out_width)
        at = (first + oy * out_width + ox)[:, None] * COUT + out[None, :]
        own = tl.load(slope + at, mask=ok[:, None] & out_ok[None, :], other=0.0)
        if POOL > 1:
            which = tl.load(arg + at, mask=ok[:, None] & out_ok[None, :], other=-1)
            own = tl.where(which == ((cy % POOL) * POOL + cx % POOL)[:, None], own, 0.0)
        k = tap * CIN + channel
        weight_ok = out_ok[:, None] & channel_ok[None, :]
        weight = tl.load(w + k[None, :] * COUT + out[:, None], mask=weight_ok, other=0.0)  # [COLUMNS, CHANNELS]
        total = tl.dot(own, weight, total, input_precision=PRECISION)
    to = (model.to(tl.int64) * batch * height * width + rows)[:, None] * CIN + channel[None, :]
    ok = row_ok[:, None] & channel_ok[None, :]
    if RELU:
        total = tl.where(tl.load(x + to, mask=ok, other=0.0) > 0, total, 0.0)
    tl.store(dx + to, total, mask=ok)


def forward(layer: Shape, given: Input, weight: Tensor, *, learns: bool = True) -> tuple[Tensor, Tensor]:
    """Activations [G, B, side, side, channels] and, with pooling, the position of each maximum (if `learns`).

    `weight` [G, 9 * channels + 1, out channels] may be part of longer rows.
    """
    models, batch = (given.images if given.rows is None else given.rows).shape[:2]
    side, from_side = layer.out_side, layer.side
    y = weight.new_empty(models, batch, side, side, layer.out_channels)
    finds = learns and layer.pool > 1
    arg = torch.empty_like(y, dtype=torch.int8) if finds else y
    rows = 64 if not learns and layer.pool == 1 and precision() == "tf32" else 32
    forward_kernel[(triton.cdiv(batch * side * side, rows), models)](
        given.images, given.rows, weight, y, arg, batch, from_side, from_side, side, side, *given.strides,
        weight.stride(0), *layer.constants, layer.relu, given.rows is not None, finds, rows, layer.block, precision(),
        num_warps=2, num_stages=2,
    )  # fmt: skip
    return y, arg


def weight_gradient(layer: Shape, given: Input, slope: Tensor, arg: Tensor, out: Tensor) -> None:
    """Write the gradient into `out` [G, 9 * channels + 1, out channels], which may be part of longer rows."""
    models, batch, side = slope.shape[:3]
    positions = batch * side * side
    rows, stages, max_rows = (64, 2, 512) if layer.block <= 32 else (32, 1, 1024)
    # positions that a program adds up: independent of the number of models, so that sums round alike in any batch
    split_rows = min(max_rows, triton.cdiv(positions, rows) * rows)
    splits = triton.cdiv(positions, split_rows)
    parts = out.new_empty(splits, *out.shape) if splits > 1 else out.unsqueeze(0)
    weight_gradient_kernel[(triton.cdiv(9 * layer.channels, layer.block), models, splits)](
        given.images, given.rows, slope, arg, parts, batch, layer.side, layer.side, side, side,
        *given.strides, parts.stride(0), parts.stride(1),
        *layer.constants, given.rows is not None, split_rows, rows, layer.block, precision(),
        num_warps=2, num_stages=stages,
    )  # fmt: skip
    if splits > 1:
        torch.sum(parts, 0, out=out)


def input_gradient(
    layer: Shape, images: Tensor, slope: Tensor, arg: Tensor, weight: Tensor, *, relu: bool = True
) -> Tensor:
    """The gradient of the previous layer's output; `relu`: through its ReLU. [G, B, side, side, channels]"""
    models, batch, side = slope.shape[:3]
    dx = torch.empty_like(images)
    rows, tuning = 64, {"num_warps": 4, "num_stages": 1}
    input_gradient_kernel[(triton.cdiv(batch * layer.side**2, rows), models)](
        images, slope, arg, weight, dx, batch, layer.side, layer.side, side, side, weight.stride(0),
        *layer.constants, relu, columns(layer.channels), rows, precision(), **tuning,
    )  # fmt: skip
    return dx


def precision() -> str:
    """The precision of products: the one that torch's own convolutions use."""
    return "tf32" if torch.backends.cudnn.allow_tf32 else "tf32x3"
