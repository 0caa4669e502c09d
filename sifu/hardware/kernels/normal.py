"""Standard normal numbers of sifu/core/keys.py in one kernel, to the bit; plain torch needs about 200 kernels a draw.

Every operation is rounded by itself, as there: the kernel is compiled without fused multiply-adds, and constants that
are no sum of a few powers of two are read from a table, as a literal would be rounded to single precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor

from sifu.hardware.kernels.hashing import mix

_BLOCK = 512
_DEGREE = tl.constexpr(8)  # coefficients of each polynomial of AS 241
_TERMS = tl.constexpr(18)  # of the logarithm's series
_SERIES = tl.constexpr(6 * 8)  # where they begin in the table
_OTHERS = tl.constexpr(6 * 8 + 18)  # where 0.180625, 1.6, ln 2 and 0.425 begin


@triton.jit
def _polynomial(x, table, count: tl.constexpr):
    value = tl.zeros_like(x) + tl.load(table)
    for i in tl.static_range(1, count):
        value = value * x
        value = value + tl.load(table + i)
    return value


@triton.jit
def _ratio(x, table):
    return _polynomial(x, table, _DEGREE) / _polynomial(x, table + _DEGREE, _DEGREE)


@triton.jit
def _log(x, table):
    """`frexp` by the bits of a double: 11 of exponent, 52 of mantissa."""
    bits = x.to(tl.int64, bitcast=True)
    exponent = ((bits >> 52) & 0x7FF) - 1022
    mantissa = ((bits & 0xFFFFFFFFFFFFF) | 0x3FE0000000000000).to(tl.float64, bitcast=True)
    z = (mantissa - 1.0) / (mantissa + 1.0)
    series = _polynomial(z * z, table + _SERIES, _TERMS)
    return exponent.to(tl.float64) * tl.load(table + _OTHERS + 2) + (z * series) * 2.0


@triton.jit
def _sqrt(x):
    root = (x + 1.0) * 0.5
    for _ in tl.static_range(12):
        root = (root + x / root) * 0.5
    return root


@triton.jit
def _quantile(p, table):
    centred = p - 0.5
    centre = centred * _ratio(tl.load(table + _OTHERS) - centred * centred, table)
    root = _sqrt(-_log(tl.minimum(p, 1.0 - p), table))
    near = _ratio(root - tl.load(table + _OTHERS + 1), table + 2 * _DEGREE)
    tail = tl.where(root <= 5.0, near, _ratio(root - 5.0, table + 4 * _DEGREE))
    tail = tl.where(centred < 0, -tail, tail)
    return tl.where(tl.abs(centred) <= tl.load(table + _OTHERS + 3), centre, tail)


@triton.jit
def normal_kernel(state, table, out, total, count, BLOCK: tl.constexpr):
    """out [rows, count] of state [rows]."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = at < total
    key = tl.load(state + at // count, mask=ok, other=0).to(tl.uint64)
    bits = mix(key * 0xBF58476D1CE4E5B9 + mix((at % count).to(tl.uint64) + 0x9E3779B97F4A7C15))
    p = ((bits >> 12).to(tl.int64).to(tl.float64) + 0.5) * 2.220446049250313e-16  # 2^-52
    tl.store(out + at, _quantile(p, table), mask=ok)


@triton.jit
def quantile_kernel(p, table, out, total, BLOCK: tl.constexpr):
    """out [total] of p [total]."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, _quantile(tl.load(p + at, mask=at < total, other=0.5), table), mask=at < total)


@cache
def _table(constants: tuple[float, ...], device: torch.device) -> Tensor:
    return torch.tensor(constants, dtype=torch.float64, device=device)


def normal(state: Tensor, count: int, constants: Sequence[float]) -> Tensor:
    """`count` standard normal numbers for each key: the quantiles of its draws. [..., count] float64"""
    out = state.new_empty((*state.shape, count), dtype=torch.float64)
    if out.numel():
        table = _table(tuple(constants), state.device)
        grid = (triton.cdiv(out.numel(), _BLOCK),)
        normal_kernel[grid](state.contiguous(), table, out, out.numel(), count, _BLOCK, enable_fp_fusion=False)
    return out


def quantile(p: Tensor, constants: Sequence[float]) -> Tensor:
    """The standard normal quantiles of `p` [n]: what `normal` computes of its draws. [n] float64"""
    out = torch.empty_like(p)
    table = _table(tuple(constants), p.device)
    quantile_kernel[(triton.cdiv(len(p), _BLOCK),)](p, table, out, len(p), _BLOCK, enable_fp_fusion=False)
    return out
