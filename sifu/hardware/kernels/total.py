"""Sums of parts, added up one after another: the same order for any number of models (torch's depends on it)."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 256


@triton.jit
def total_kernel(parts, out, count, columns, BLOCK: tl.constexpr):
    """out [G, columns] of parts [G, count, columns]."""
    model = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = at < columns
    parts += model * count * columns
    total = tl.zeros((BLOCK,), tl.float32)
    for part in range(0, count):
        total += tl.load(parts + part * columns + at, mask=ok, other=0.0)
    tl.store(out + model * columns + at, total, mask=ok)


def total_of(parts: Tensor) -> Tensor:
    """The sum over the second axis. [G, T, ...] -> [G, ...]"""
    if parts.shape[1] == 1:
        return parts[:, 0]
    parts = parts.contiguous()
    out = parts.new_empty(parts.shape[0], *parts.shape[2:])
    columns = parts[0, 0].numel()
    if out.numel():
        total_kernel[(triton.cdiv(columns, _BLOCK), len(parts))](parts, out, parts.shape[1], columns, _BLOCK)
    return out
