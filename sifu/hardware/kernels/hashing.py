"""The hash of sifu/core/keys.py in one kernel; plain torch needs a dozen kernels for every word."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 256


@triton.jit
def mix(bits):
    """SplitMix64's finaliser, on unsigned numbers: shifts of signed numbers would copy the sign bit."""
    bits = bits.to(tl.uint64)
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB
    return bits ^ (bits >> 31)


@triton.jit
def fold_kernel(state, word, out, total, columns, word_stride, BLOCK: tl.constexpr):
    """out [rows, columns] of state [rows] and word [rows or 1, columns]."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = at < total
    row, column = at // columns, at % columns
    key = tl.load(state + row, mask=ok, other=0).to(tl.uint64)
    number = tl.load(word + row * word_stride + column, mask=ok, other=0).to(tl.uint64)
    mixed = mix(key * 0xBF58476D1CE4E5B9 + mix(number + 0x9E3779B97F4A7C15))
    tl.store(out + at, mixed.to(tl.int64), mask=ok)


@triton.jit
def fold_number_kernel(state, hashed, out, total, BLOCK: tl.constexpr):
    """out [total] of state [total] and one word that is already hashed."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(state + at, mask=at < total, other=0).to(tl.uint64)
    tl.store(out + at, mix(key * 0xBF58476D1CE4E5B9 + hashed.to(tl.uint64)).to(tl.int64), mask=at < total)


def fold(state: Tensor, word: Tensor) -> Tensor:
    """The keys of sub-streams: each key of `state` [..., 1, 1] with its own words, or all with the same `word` [n]."""
    shape = torch.broadcast_shapes(state.shape, word.shape)
    columns = max(1, math.prod(shape) // max(1, state.numel()))
    if word.numel() != columns and word.shape != shape:
        word = word.expand(shape)
    stride = 0 if word.numel() == columns else columns
    out = state.new_empty(shape)
    fold_kernel[(triton.cdiv(out.numel(), _BLOCK),)](
        state.contiguous(), word.contiguous(), out, out.numel(), columns, stride, _BLOCK
    )
    return out


def fold_number(state: Tensor, hashed: int) -> Tensor:
    """The keys of the sub-stream of one word; `hashed` is its hash."""
    state = state.contiguous()
    out = torch.empty_like(state)
    fold_number_kernel[(triton.cdiv(out.numel(), _BLOCK),)](state, hashed, out, out.numel(), _BLOCK)
    return out
