"""Fully connected layers of many models at once, and their gradients.

cuBLAS has batched products, but its order of summation depends on the number of models. A client's weights would then
depend, in the last bit, on the other clients of the batch, and TF32 amplifies a difference in the last bit. A round
that is replayed in another batch must give the same weights, so the order of sums here depends on the layer alone.

Activations are [G, B, in]. Weights are [G, in + 1, out], the bias last; they may be parts of longer rows.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from sifu.hardware.kernels.convolution import precision

_ROWS, _INNER, _OUTER = 32, 64, 64  # examples, inputs and outputs of a program at a time


@triton.jit
def _tile(row, row_ok, column, column_ok, stride):
    """Offsets and mask of the given rows and columns of a matrix."""
    return row[:, None] * stride + column[None, :], row_ok[:, None] & column_ok[None, :]


@triton.jit
def forward_kernel(
    x, w, y, batch, inner, outer, w_model,
    RELU: tl.constexpr, ROWS: tl.constexpr, INNER: tl.constexpr, OUTER: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """y [G, batch, outer] = x [G, batch, inner] w + bias, then a ReLU if RELU."""
    model = tl.program_id(1).to(tl.int64)
    row, out = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.program_id(2) * OUTER + tl.arange(0, OUTER)
    x += model * batch * inner
    w += model * w_model
    total = tl.zeros((ROWS, OUTER), tl.float32)
    for first in range(0, inner, INNER):
        k = first + tl.arange(0, INNER)
        x_offset, ok = _tile(row, row < batch, k, k < inner, inner)
        w_offset, weight_ok = _tile(k, k < inner, out, out < outer, outer)
        given = tl.load(x + x_offset, mask=ok, other=0.0)
        total = tl.dot(given, tl.load(w + w_offset, mask=weight_ok, other=0.0), total, input_precision=PRECISION)
    total += tl.load(w + inner * outer + out, mask=out < outer, other=0.0)[None, :]
    if RELU:
        total = tl.where(total < 0, 0.0, total)  # not a maximum: that would hide a NaN
    to, ok = _tile(row, row < batch, out, out < outer, outer)
    tl.store(y + model * batch * outer + to, total, mask=ok)


@triton.jit
def weight_gradient_kernel(
    x, slope, dw, batch, inner, outer, dw_model,
    ROWS: tl.constexpr, INNER: tl.constexpr, OUTER: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dw [G, inner + 1, outer] from x [G, batch, inner] and slope [G, batch, outer]."""
    model = tl.program_id(1).to(tl.int64)
    k, out = tl.program_id(0) * INNER + tl.arange(0, INNER), tl.program_id(2) * OUTER + tl.arange(0, OUTER)
    x += model * batch * inner
    slope += model * batch * outer
    dw += model * dw_model
    total = tl.zeros((INNER, OUTER), tl.float32)
    bias = tl.zeros((OUTER,), tl.float32)
    for first in range(0, batch, ROWS):
        row = first + tl.arange(0, ROWS)
        ok = (k < inner)[:, None] & (row < batch)[None, :]
        given = tl.load(x + k[:, None] + row[None, :] * inner, mask=ok, other=0.0)  # [INNER, ROWS]
        offset, slope_ok = _tile(row, row < batch, out, out < outer, outer)
        own = tl.load(slope + offset, mask=slope_ok, other=0.0)
        bias += tl.sum(own, 0)
        total = tl.dot(given, own, total, input_precision=PRECISION)
    to, ok = _tile(k, k < inner, out, out < outer, outer)
    tl.store(dw + to, total, mask=ok)
    if tl.program_id(0) == 0:
        tl.store(dw + inner * outer + out, bias, mask=out < outer)


@triton.jit
def input_gradient_kernel(
    x, slope, w, dx, batch, inner, outer, w_model,
    RELU: tl.constexpr, ROWS: tl.constexpr, INNER: tl.constexpr, OUTER: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dx [G, batch, inner] from slope [G, batch, outer]; if RELU, zero where the ReLU that made x was off."""
    model = tl.program_id(1).to(tl.int64)
    row = tl.program_id(2) * ROWS + tl.arange(0, ROWS)
    k = tl.program_id(0) * INNER + tl.arange(0, INNER)
    total = tl.zeros((ROWS, INNER), tl.float32)
    for first in range(0, outer, OUTER):
        out = first + tl.arange(0, OUTER)
        offset, ok = _tile(row, row < batch, out, out < outer, outer)
        own = tl.load(slope + model * batch * outer + offset, mask=ok, other=0.0)
        weight_ok = (out < outer)[:, None] & (k < inner)[None, :]
        weight = tl.load(w + model * w_model + k[None, :] * outer + out[:, None], mask=weight_ok, other=0.0)
        total = tl.dot(own, weight, total, input_precision=PRECISION)  # [ROWS, INNER]
    to, ok = _tile(row, row < batch, k, k < inner, inner)
    to += model * batch * inner
    if RELU:
        total = tl.where(tl.load(x + to, mask=ok, other=0.0) > 0, total, 0.0)
    tl.store(dx + to, total, mask=ok)


def forward(given: Tensor, weight: Tensor, *, relu: bool) -> Tensor:
    """[G, B, out] of `given` [G, B, in] and `weight` [G, in + 1, out]."""
    models, batch, inner = given.shape
    outer = weight.shape[2]
    y = given.new_empty(models, batch, outer)
    forward_kernel[(triton.cdiv(batch, _ROWS), models, triton.cdiv(outer, _OUTER))](
        given, weight, y, batch, inner, outer, weight.stride(0),
        relu, _ROWS, _INNER, _width(outer), precision(), num_warps=4, num_stages=3,
    )  # fmt: skip
    return y


def weight_gradient(given: Tensor, slope: Tensor, out: Tensor) -> None:
    """Write the gradient into `out` [G, in + 1, out], from `given` [G, B, in] and `slope` [G, B, out]."""
    models, batch, inner = given.shape
    outer, slope = slope.shape[2], slope.contiguous()
    weight_gradient_kernel[(triton.cdiv(inner, _INNER), models, triton.cdiv(outer, _OUTER))](
        given, slope, out, batch, inner, outer, out.stride(0),
        _ROWS, _INNER, _width(outer), precision(), num_warps=4, num_stages=1,
    )  # fmt: skip


def input_gradient(given: Tensor, slope: Tensor, weight: Tensor, *, relu: bool = True) -> Tensor:
    """The gradient of the previous layer's output; `relu`: through its ReLU. [G, B, in]"""
    models, batch, inner = given.shape
    outer, slope, dx = slope.shape[2], slope.contiguous(), torch.empty_like(given)
    input_gradient_kernel[(triton.cdiv(inner, _INNER), models, triton.cdiv(batch, _ROWS))](
        given, slope, weight, dx, batch, inner, outer, weight.stride(0),
        relu, _ROWS, _INNER, _width(outer), precision(), num_warps=4, num_stages=1,
    )  # fmt: skip
    return dx


def _width(outer: int) -> int:
    """Columns of a program: all outputs, padded to a power of two of at least 16, as matrix units need; or a part."""
    return min(_OUTER, max(16, triton.next_power_of_2(outer)))
