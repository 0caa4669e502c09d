"""The norm of each row, summed in the same order for any number of rows (torch's own order depends on it)."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 4096


@triton.jit
def squares_kernel(x, sums, count, blocks, BLOCK: tl.constexpr):
    """sums [G, blocks] of the squares of each block of x [G, count]."""
    row = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + row * count + at, mask=at < count, other=0.0)
    tl.store(sums + row * blocks + tl.program_id(0), tl.sum(value * value, 0))


@triton.jit
def root_kernel(sums, norms, blocks, BLOCK: tl.constexpr):
    """norms [G] of sums [G, blocks]."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(norms + row, tl.sqrt(tl.sum(tl.load(sums + row * blocks + at, mask=at < blocks, other=0.0), 0)))


def row_norms(rows: Tensor) -> Tensor:
    """The Euclidean norm of each row. [..., P] -> [...]"""
    rows = rows.contiguous()
    norms, count = rows.new_empty(rows.shape[:-1]), rows.shape[-1]
    blocks = triton.cdiv(count, _BLOCK)
    sums = rows.new_empty(norms.numel(), blocks)
    if norms.numel():
        squares_kernel[(blocks, norms.numel())](rows, sums, count, blocks, _BLOCK)
        root_kernel[(norms.numel(),)](sums, norms, blocks, triton.next_power_of_2(blocks))
    return norms
