"""K steps of SGD of logistic regression for many clients at once, one program per client.

The arithmetic is that of sifu/federation/local/dual.py, in one kernel.

A client's images are read twice: for the logits at the start, and for the result. The steps in between stay on the
processor: the Gram matrix, the coefficients of the examples, their velocity.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

_PIXELS = 64  # per block


@triton.jit
def train_kernel(
    images, gram, labels, start, place, seed, weight, local,
    num_weights, client_stride, step_stride, rate, momentum, decay, clip,
    examples: tl.constexpr, pixels: tl.constexpr, classes: tl.constexpr, steps: tl.constexpr,
    N: tl.constexpr, CLASSES: tl.constexpr, PIXELS: tl.constexpr, CLIPPED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """local [q, P] from start [R, P]: program q trains client place[q] for row seed[q]."""
    q = tl.program_id(0).to(tl.int64)
    client, row = tl.load(place + q), tl.load(seed + q)
    n, c, d = tl.arange(0, N), tl.arange(0, CLASSES), tl.arange(0, PIXELS)
    real, used = n < examples, c < classes
    images += client * examples * pixels
    start += row * num_weights
    local += q * num_weights

    bias = tl.load(start + classes * pixels + c, mask=used, other=0.0)
    first = tl.zeros((N, CLASSES), tl.float32) + bias[None, :]
    for block in range(0, pixels, PIXELS):
        pixel = block + d
        x = tl.load(
            images + n[:, None] * pixels + pixel[None, :], mask=real[:, None] & (pixel < pixels)[None, :], other=0.0
        )
        w = tl.load(
            start + c[None, :] * pixels + pixel[:, None], mask=used[None, :] & (pixel < pixels)[:, None], other=0.0
        )
        first = tl.dot(x, w, first, input_precision=PRECISION)

    both = real[:, None] & real[None, :]
    g = tl.load(gram + client * examples * examples + n[:, None] * examples + n[None, :], mask=both, other=0.0)
    label = tl.load(labels + client * examples + n, mask=real, other=-1)
    target = (label[:, None] == c[None, :]).to(tl.float32)
    logits = first
    coefficients = tl.zeros((N, CLASSES), tl.float32)
    velocity = tl.zeros((N, CLASSES), tl.float32)
    kept, kept_velocity = 1.0, 0.0
    for step in range(steps):
        share = tl.load(weight + q * client_stride + step * step_stride + n, mask=real, other=0.0)
        shown = tl.where(used[None, :], logits, float("-inf"))
        power = tl.exp(shown - tl.max(shown, 1)[:, None])
        slope = (power / tl.sum(power, 1)[:, None] - target) * share[:, None]
        if CLIPPED:  # ||slope^T X||^2 = <slope, G slope>
            squared = tl.sum(tl.sum(slope * tl.dot(g, slope, input_precision=PRECISION), 1), 0)
            slope = slope * tl.minimum(1.0, clip / (tl.sqrt(tl.maximum(squared, 0.0)) + 1e-6))
        velocity = momentum * velocity + slope + decay * coefficients
        kept_velocity = momentum * kept_velocity + decay * kept
        kept = kept - rate * kept_velocity
        coefficients = coefficients - rate * velocity
        logits = tl.dot(g, coefficients, kept * first, input_precision=PRECISION)

    tl.store(local + classes * pixels + c, kept * bias + tl.sum(coefficients, 0), mask=used)
    turned = tl.trans(coefficients)  # [CLASSES, N]
    for block in range(0, pixels, PIXELS):
        pixel = block + d
        x = tl.load(
            images + n[:, None] * pixels + pixel[None, :], mask=real[:, None] & (pixel < pixels)[None, :], other=0.0
        )
        at = c[:, None] * pixels + pixel[None, :]
        ok = used[:, None] & (pixel < pixels)[None, :]
        w = tl.load(start + at, mask=ok, other=0.0)
        tl.store(local + at, tl.dot(turned, x, kept * w, input_precision=PRECISION), mask=ok)


@triton.jit
def predict_kernel(
    images, weights, rows, predicted,
    count, num_weights,
    pixels: tl.constexpr, classes: tl.constexpr,
    N: tl.constexpr, CLASSES: tl.constexpr, PIXELS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """predicted [R, count]: the most likely class of images[rows[r]] [count, pixels] under weights[r]."""
    model = tl.program_id(1).to(tl.int64)
    n, c, d = tl.program_id(0) * N + tl.arange(0, N), tl.arange(0, CLASSES), tl.arange(0, PIXELS)
    real, used = n < count, c < classes
    example = tl.load(rows + model * count + n, mask=real, other=0) * pixels
    weights += model * num_weights
    bias = tl.load(weights + classes * pixels + c, mask=used, other=0.0)
    logits = tl.zeros((N, CLASSES), tl.float32) + bias[None, :]
    for block in range(0, pixels, PIXELS):
        pixel = block + d
        inside = pixel < pixels
        x = tl.load(images + example[:, None] + pixel[None, :], mask=real[:, None] & inside[None, :], other=0.0)
        w = tl.load(weights + c[None, :] * pixels + pixel[:, None], mask=used[None, :] & inside[:, None], other=0.0)
        logits = tl.dot(x, w, logits, input_precision=PRECISION)
    best = tl.argmax(tl.where(used[None, :], logits, float("-inf")), 1)
    tl.store(predicted + model * count + n, best.to(tl.int64), mask=real)


class Descent(NamedTuple):
    """SGD's settings."""

    rate: float
    momentum: float
    decay: float
    clip: float | None


def train(images: Tensor, gram: Tensor, labels: Tensor, start: Tensor, seed: Tensor, place: Tensor, weight: Tensor,
          descent: Descent) -> Tensor:  # fmt: skip
    """The weights [q, P] of q trainings, from `start` [R, P].

    Training q starts at row `seed` [q] and uses the data of client `place` [q]; `weight` [q, K, n] is the weight of
    each example at each step. `images` [clients, n, D], `gram` [clients, n, n], `labels` [clients, n].
    """
    examples, pixels = images.shape[1:]
    classes = start.shape[1] // (pixels + 1)
    local = start.new_empty(len(place), start.shape[1])
    train_kernel[(len(place),)](
        images, gram, labels, start, place, seed, weight, local,
        start.shape[1], weight.stride(0), weight.stride(1),
        descent.rate, descent.momentum, descent.decay, descent.clip or 0.0,
        examples, pixels, classes, weight.shape[1],
        max(16, triton.next_power_of_2(examples)), max(16, triton.next_power_of_2(classes)), _PIXELS,
        descent.clip is not None, precision(), num_warps=8,
    )  # fmt: skip
    return local


def predict(weights: Tensor, images: Tensor, rows: Tensor) -> Tensor:
    """The classes of `rows` [R, n] of `images` [N, ...] under `weights` [R, P]: [R, n]."""
    pixels, count = images[0].numel(), rows.shape[1]
    classes = weights.shape[1] // (pixels + 1)
    predicted = torch.empty_like(rows)
    predict_kernel[(triton.cdiv(count, 32), len(rows))](
        images, weights.contiguous(), rows.contiguous(), predicted, count, weights.shape[1], pixels, classes,
        32, max(16, triton.next_power_of_2(classes)), _PIXELS, precision(), num_warps=2, num_stages=3,
    )  # fmt: skip
    return predicted


def precision() -> str:
    """Three TF32 products are as precise as one of float32 here, and run on the matrix units."""
    return "tf32x3" if torch.backends.cudnn.allow_tf32 else "ieee"
