"""A step of SGD in one pass over the weights: the arithmetic of sifu/federation/local/sgd.py on a GPU."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 1024


@triton.jit
def step_kernel(
    weights, velocity, gradient, factor, count, rate, momentum, decay, CLIPPED: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """weights, velocity and gradient [G, count]; factor [G] multiplies each row's gradient."""
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


def sgd_step(
    weights: Tensor,
    velocity: Tensor,
    gradient: Tensor,
    factor: Tensor | None,
    *,
    rate: float,
    momentum: float,
    decay: float,
) -> None:
    """One step on weights and velocity [G, P], in place. Gradients are multiplied by `factor` [G] unless it is None."""
    models, count = weights.shape
    step_kernel[(triton.cdiv(count, _BLOCK), models)](
        weights, velocity, gradient, gradient if factor is None else factor, count,
        rate, momentum, decay, factor is not None, _BLOCK,
    )  # fmt: skip
