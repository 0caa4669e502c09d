"""A step of SGD in one pass over the weights: sifu/local/sgd.py for rows on a GPU."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from sifu.kernels.norm import row_norms
from sifu.local.sgd import clip_factor
from sifu.scenario import Federation

_BLOCK = 1024


@triton.jit
def step_kernel(
    weights, velocity, gradient, factor, count, rate, momentum, decay, CLIPPED: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """weights, velocity and gradient [G, count]; factor [G]: what a row's gradient is multiplied by."""
    row = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = at < count
    at = row * count + at
    w = tl.load(weights + at, mask=ok)
    g = tl.load(gradient + at, mask=ok)
    if CLIPPED:
        g = g * tl.load(factor + row)
    v = momentum * tl.load(velocity + at, mask=ok) + (g + decay * w)
    tl.store(velocity + at, v, mask=ok)
    tl.store(weights + at, w - rate * v, mask=ok)


def sgd_step(weights: Tensor, velocity: Tensor, gradient: Tensor, federation: Federation) -> None:
    """weights and velocity [G, P] after one step, in place."""
    models, count = weights.shape
    clipped = federation.clip is not None
    factor = clip_factor(row_norms(gradient), federation.clip) if federation.clip is not None else gradient
    step_kernel[(triton.cdiv(count, _BLOCK), models)](
        weights, velocity, gradient, factor, count,
        federation.client_lr, federation.momentum, federation.weight_decay, clipped, _BLOCK,
    )  # fmt: skip
