"""2-D convolutions and fully connected layers of many models at once, of any size, and their gradients.

`convolution.py` is faster for the networks that it was written for; this one takes any kernel, stride, padding and
dilation, and does nothing besides. The order of every sum depends on the layer alone, not on the number of models: a
model that is trained again in another batch has the same bits.

Activations are [G, B, channels, H, W] and weights [G, taps * channels in, channels out], with any strides. A row of a
matrix product is a position, its inner axis the channels of a tap. A fully connected layer is a convolution of images
of one pixel.
"""

from __future__ import annotations

from typing import NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from sifu.hardware.kernels.convolution import precision
from sifu.hardware.kernels.total import total_of

_SPLIT_ROWS = 1024  # positions that a program adds up for a weight's gradient


@triton.jit
def _seen(out_y, out_x, tap, WIDTH: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr, DILATION: tl.constexpr):
    """The line and column of the image that a tap sees from a position of the output."""
    return out_y * STRIDE - PAD + (tap // WIDTH) * DILATION, out_x * STRIDE - PAD + (tap % WIDTH) * DILATION


@triton.jit
def _patch(
    x, example, out_y, out_x, row_ok, block, height, width, x_c, x_y, x_x,
    CIN: tl.constexpr, TAPS: tl.constexpr, WIDTH: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr,
    DILATION: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """What the block `block` of (tap, channel) pairs sees from some positions. [rows, BLOCK_K]"""
    k = block * BLOCK_K + tl.arange(0, BLOCK_K)
    if CIN % BLOCK_K == 0:  # one tap a block: lines and columns are those of a row
        tap, channel = block * BLOCK_K // CIN, k % CIN
        line, column = _seen(out_y, out_x, tap, WIDTH, STRIDE, PAD, DILATION)
        ok = row_ok
        if PAD > 0:
            ok = ok & (line >= 0) & (line < height) & (column >= 0) & (column < width)
        offset = (example + line * x_y + column * x_x)[:, None] + (channel * x_c)[None, :]
        return tl.load(x + offset, mask=ok[:, None], other=0.0)
    tap, channel = (k // CIN)[None, :], (k % CIN)[None, :]
    line, column = _seen(out_y[:, None], out_x[:, None], tap, WIDTH, STRIDE, PAD, DILATION)
    ok = row_ok[:, None] & (k < TAPS * CIN)[None, :]
    if PAD > 0:
        ok = ok & (line >= 0) & (line < height) & (column >= 0) & (column < width)
    offset = example[:, None] + line * x_y + column * x_x + channel * x_c
    return tl.load(x + offset, mask=ok, other=0.0)


@triton.jit
def forward_kernel(
    x, w, bias, y,
    batch, height, width, out_height, out_width, x_model, x_example, x_c, x_y, x_x, w_model, w_k, w_out,
    CIN: tl.constexpr, COUT: tl.constexpr, TAPS: tl.constexpr, WIDTH: tl.constexpr, STRIDE: tl.constexpr,
    PAD: tl.constexpr, DILATION: tl.constexpr, HAS_BIAS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """y [G, B, out_height, out_width, COUT] = conv(x) + bias."""
    model = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    out = tl.program_id(2) * BLOCK_N + tl.arange(0, BLOCK_N)
    positions = out_height * out_width
    row_ok, out_ok = rows < batch * positions, out < COUT
    example, place = model * x_model + (rows // positions).to(tl.int64) * x_example, rows % positions
    out_y, out_x = place // out_width, place % out_width
    w += model * w_model
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for block in range(0, (TAPS * CIN + BLOCK_K - 1) // BLOCK_K):
        patch = _patch(
            x, example, out_y, out_x, row_ok, block, height, width, x_c, x_y, x_x,
            CIN, TAPS, WIDTH, STRIDE, PAD, DILATION, BLOCK_K,
        )  # fmt: skip
        k = block * BLOCK_K + tl.arange(0, BLOCK_K)
        weight_ok = (k < TAPS * CIN)[:, None] & out_ok[None, :]
        weight = tl.load(w + k[:, None] * w_k + out[None, :] * w_out, mask=weight_ok, other=0.0)
        total = tl.dot(patch, weight, total, input_precision=PRECISION)
    if HAS_BIAS:
        total += tl.load(bias + model * COUT + out, mask=out_ok, other=0.0)[None, :]
    to = (model * batch * positions + rows)[:, None] * COUT + out[None, :]
    tl.store(y + to, total, mask=row_ok[:, None] & out_ok[None, :])


@triton.jit
def weight_gradient_kernel(
    x, slope, dw, dbias,
    batch, height, width, out_height, out_width, x_model, x_example, x_c, x_y, x_x, s_model, s_example, s_c, s_y, s_x,
    splits,
    CIN: tl.constexpr, COUT: tl.constexpr, TAPS: tl.constexpr, WIDTH: tl.constexpr, STRIDE: tl.constexpr,
    PAD: tl.constexpr, DILATION: tl.constexpr, HAS_BIAS: tl.constexpr, SPLIT_ROWS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dw [G, splits, COUT, CIN, TAPS] and dbias [G, splits, COUT] from slope; splits must be added up."""
    model = tl.program_id(1).to(tl.int64)
    split, outs = tl.program_id(2) % splits, tl.program_id(2) // splits
    block = tl.program_id(0)
    positions = out_height * out_width
    out = outs * BLOCK_N + tl.arange(0, BLOCK_N)
    out_ok = out < COUT
    total = tl.zeros((BLOCK_K, BLOCK_N), tl.float32)
    bias = tl.zeros((BLOCK_N,), tl.float32)
    for first in range(0, SPLIT_ROWS, BLOCK_M):
        rows = split * SPLIT_ROWS + first + tl.arange(0, BLOCK_M)
        row_ok = rows < batch * positions
        number, place = (rows // positions).to(tl.int64), rows % positions
        out_y, out_x = place // out_width, place % out_width
        patch = _patch(
            x, model * x_model + number * x_example, out_y, out_x, row_ok, block, height, width, x_c, x_y, x_x,
            CIN, TAPS, WIDTH, STRIDE, PAD, DILATION, BLOCK_K,
        )  # fmt: skip
        at = (model * s_model + number * s_example + out_y * s_y + out_x * s_x)[:, None] + (out * s_c)[None, :]
        own = tl.load(slope + at, mask=row_ok[:, None] & out_ok[None, :], other=0.0)
        if HAS_BIAS:
            bias += tl.sum(own, 0)
        total = tl.dot(tl.trans(patch), own, total, input_precision=PRECISION)
    k = block * BLOCK_K + tl.arange(0, BLOCK_K)
    part = model * splits + split
    to = part * TAPS * CIN * COUT + (k % CIN * TAPS + k // CIN)[:, None] + out[None, :] * (CIN * TAPS)
    tl.store(dw + to, total, mask=(k < TAPS * CIN)[:, None] & out_ok[None, :])
    if HAS_BIAS:  # noqa: SIM102  # one is known when it is compiled, the other not
        if block == 0:
            tl.store(dbias + part * COUT + out, bias, mask=out_ok)


@triton.jit
def input_gradient_kernel(
    slope, w, dx,
    batch, height, width, out_height, out_width, s_model, s_example, s_c, s_y, s_x, w_model, w_k, w_out,
    CIN: tl.constexpr, COUT: tl.constexpr, TAPS: tl.constexpr, WIDTH: tl.constexpr, STRIDE: tl.constexpr,
    PAD: tl.constexpr, DILATION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dx [G, B, height, width, CIN] from slope."""
    model = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    channel = tl.program_id(2) * BLOCK_N + tl.arange(0, BLOCK_N)
    row_ok, channel_ok = rows < batch * height * width, channel < CIN
    example, place = model * s_model + (rows // (height * width)).to(tl.int64) * s_example, rows % (height * width)
    line, column = place // width + PAD, place % width + PAD
    a_tap: tl.constexpr = (COUT + BLOCK_K - 1) // BLOCK_K  # blocks per tap
    w += model * w_model
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for block in range(0, TAPS * a_tap):
        tap, out = block // a_tap, block % a_tap * BLOCK_K + tl.arange(0, BLOCK_K)
        from_y, from_x = line - (tap // WIDTH) * DILATION, column - (tap % WIDTH) * DILATION
        out_y, out_x = from_y // STRIDE, from_x // STRIDE  # the position that saw x through this tap, if one did
        ok = row_ok & (from_y >= 0) & (from_x >= 0) & (out_y < out_height) & (out_x < out_width)
        if STRIDE > 1:
            ok = ok & (from_y % STRIDE == 0) & (from_x % STRIDE == 0)
        at = (example + out_y * s_y + out_x * s_x)[:, None] + (out * s_c)[None, :]
        own = tl.load(slope + at, mask=ok[:, None] & (out < COUT)[None, :], other=0.0)
        weight_ok = (out < COUT)[:, None] & channel_ok[None, :]
        k = tap * CIN + channel
        weight = tl.load(w + k[None, :] * w_k + out[:, None] * w_out, mask=weight_ok, other=0.0)
        total = tl.dot(own, weight, total, input_precision=PRECISION)
    to = (model * batch * height * width + rows)[:, None] * CIN + channel[None, :]
    tl.store(dx + to, total, mask=row_ok[:, None] & channel_ok[None, :])


class Layer(NamedTuple):
    """The sizes of a layer, the same for every model."""

    channels: int
    height: int
    width: int
    out_channels: int
    kernel: tuple[int, int]
    stride: int = 1
    padding: int = 0
    dilation: int = 1

    @property
    def out_height(self) -> int:
        return (self.height + 2 * self.padding - self.dilation * (self.kernel[0] - 1) - 1) // self.stride + 1

    @property
    def out_width(self) -> int:
        return (self.width + 2 * self.padding - self.dilation * (self.kernel[1] - 1) - 1) // self.stride + 1

    @property
    def taps(self) -> int:
        return self.kernel[0] * self.kernel[1]

    @property
    def sides(self) -> tuple[int, int, int, int]:
        return self.height, self.width, self.out_height, self.out_width

    @property
    def constants(self) -> tuple[int, ...]:
        """What the kernels are compiled for."""
        return self.channels, self.out_channels, self.taps, self.kernel[1], self.stride, self.padding, self.dilation


def pack(weight: Tensor) -> Tensor:
    """torch's weights [G, out, in, height, width] as [G, taps * in, out]; copied: a tap's channels should be close."""
    packed = weight.permute(0, 3, 4, 2, 1).flatten(1, 3)
    return packed if weight[0, 0, 0].numel() == 1 else packed.contiguous()


def forward(layer: Layer, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """conv(x) + bias. `x` [G, B, in, H, W], `weight` packed, `bias` [G, out] -> [G, B, out, H', W'], channels last."""
    models, batch = x.shape[:2]
    y = x.new_empty(models, batch, layer.out_height, layer.out_width, layer.out_channels)
    rows, inner, outs, how = blocks("forward", layer)
    positions = batch * layer.out_height * layer.out_width
    grid = (triton.cdiv(positions, rows), models, triton.cdiv(layer.out_channels, outs))
    forward_kernel[grid](
        x, weight, weight if bias is None else bias.contiguous(), y, batch, *layer.sides, *x.stride(), *weight.stride(),
        *layer.constants, bias is not None, rows, inner, outs, precision(), **how,
    )  # fmt: skip
    return y.permute(0, 1, 4, 2, 3)


def weight_gradient(layer: Layer, x: Tensor, slope: Tensor, *, has_bias: bool) -> tuple[Tensor, Tensor]:
    """The gradients of the weights [G, out, in, h, w] and of the bias [G, out], from `slope` [G, B, out, H', W']."""
    models, batch = x.shape[:2]
    positions = batch * layer.out_height * layer.out_width
    rows, inner, outs, how = blocks("weight_gradient", layer)
    split_rows = min(_SPLIT_ROWS, triton.cdiv(positions, rows) * rows)
    splits = triton.cdiv(positions, split_rows)
    dw = x.new_empty(models, splits, layer.out_channels, layer.channels, *layer.kernel)
    dbias = x.new_empty(models, splits, layer.out_channels if has_bias else 0)
    grid = (triton.cdiv(layer.taps * layer.channels, inner), models, splits * triton.cdiv(layer.out_channels, outs))
    weight_gradient_kernel[grid](
        x, slope, dw, dbias, batch, *layer.sides, *x.stride(), *slope.stride(), splits,
        *layer.constants, has_bias, split_rows, rows, inner, outs, precision(), **how,
    )  # fmt: skip
    return total_of(dw), total_of(dbias)


def input_gradient(layer: Layer, slope: Tensor, weight: Tensor) -> Tensor:
    """The gradient of the layer's input. [G, B, in, H, W], channels last"""
    models, batch = slope.shape[:2]
    dx = slope.new_empty(models, batch, layer.height, layer.width, layer.channels)
    rows, inner, outs, how = blocks("input_gradient", layer)
    grid = (triton.cdiv(batch * layer.height * layer.width, rows), models, triton.cdiv(layer.channels, outs))
    input_gradient_kernel[grid](
        slope, weight, dx, batch, *layer.sides, *slope.stride(), *weight.stride(), *layer.constants,
        rows, inner, outs, precision(), **how,
    )  # fmt: skip
    return dx.permute(0, 1, 4, 2, 3)


class Blocks(NamedTuple):
    """How a kernel is cut into programs."""

    rows: int  # positions
    inner: int  # (tap, channel) pairs; for an input's gradient channels of the output
    outs: int  # channels of the result
    how: dict[str, int]


def blocks(kernel: str, layer: Layer) -> Blocks:
    """The best of a search on an H200 (docs/performance.md); depends on the layer alone."""
    inner, outs = _block(layer.channels, layer.taps), _width(layer.out_channels)
    if kernel == "forward":
        return Blocks(64, inner, outs, {"num_warps": 2, "num_stages": 3})
    if kernel == "weight_gradient":
        pairs = layer.taps * layer.channels
        if pairs <= 16:
            return Blocks(128, 16, outs, {"num_warps": 4, "num_stages": 1})
        inner = min(64 if outs == 64 else 32, _power(pairs))
        return Blocks(64, inner, outs, {"num_warps": 2, "num_stages": 1})
    inner, outs = max(16, min(32, _power(layer.out_channels))), _width(layer.channels)
    return Blocks(64, inner, outs, {"num_warps": 4 if outs > 16 else 2, "num_stages": 2})


def _block(channels: int, taps: int) -> int:
    """Size of a product's inner axis: channels of one tap where they fill it, else (tap, channel) pairs."""
    for size in (32, 16):
        if channels % size == 0:
            return size
    return max(16, min(32, _power(channels * taps)))


def _width(channels: int) -> int:
    """Columns of a program: a power of two from 16, as matrix units need, to 64."""
    return max(16, min(64, _power(channels)))


def _power(number: int) -> int:
    return int(triton.next_power_of_2(number))
