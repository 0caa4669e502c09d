"""Group normalisation of many models at once, and its gradients.

An example's group is one program's work. Images are read as they lie if channels are last, else copied once. The order
of sums depends on the layer alone, not on the number of models.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from sifu.hardware.kernels.total import total_of

_BLOCK = 2048  # numbers that a program reads at a time
_WHOLE = 16384  # a group of at most so many is read once, and kept


@triton.jit
def _places(first, positions, channel, channel_ok, channels, BLOCK: tl.constexpr):
    """Offsets and mask [BLOCK, channels of a group] of some positions of an example."""
    position = first + tl.arange(0, BLOCK)
    return position[:, None] * channels + channel[None, :], (position < positions)[:, None] & channel_ok[None, :]


@triton.jit
def forward_kernel(
    x, weight, bias, y, means, rates, batch, positions, channels, groups, eps,
    SIZE: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    """y = (x - mean) * rate * weight + bias of one example and one group of SIZE channels."""
    example, group = tl.program_id(0).to(tl.int64), tl.program_id(1)
    own = tl.arange(0, WIDTH)
    channel, channel_ok = group * SIZE + own, own < SIZE
    x += example * positions * channels
    y += example * positions * channels
    count = positions * SIZE
    model = example // batch
    scale = tl.load(weight + model * channels + channel, mask=channel_ok, other=0.0)
    shift = tl.load(bias + model * channels + channel, mask=channel_ok, other=0.0)
    if WHOLE:
        at, ok = _places(0, positions, channel, channel_ok, channels, BLOCK)
        given = tl.load(x + at, mask=ok, other=0.0)
        mean = tl.sum(given) / count
        centred = tl.where(ok, given - mean, 0.0)
        rate = 1.0 / tl.sqrt(tl.sum(centred * centred) / count + eps)
        tl.store(y + at, centred * rate * scale[None, :] + shift[None, :], mask=ok)
    else:
        total = tl.zeros((BLOCK, WIDTH), tl.float32)
        for first in range(0, positions, BLOCK):
            at, ok = _places(first, positions, channel, channel_ok, channels, BLOCK)
            total += tl.load(x + at, mask=ok, other=0.0)
        mean = tl.sum(total) / count
        total = tl.zeros((BLOCK, WIDTH), tl.float32)
        for first in range(0, positions, BLOCK):
            at, ok = _places(first, positions, channel, channel_ok, channels, BLOCK)
            centred = tl.where(ok, tl.load(x + at, mask=ok, other=0.0) - mean, 0.0)
            total += centred * centred
        rate = 1.0 / tl.sqrt(tl.sum(total) / count + eps)
        for first in range(0, positions, BLOCK):
            at, ok = _places(first, positions, channel, channel_ok, channels, BLOCK)
            normal = (tl.load(x + at, mask=ok, other=0.0) - mean) * rate
            tl.store(y + at, normal * scale[None, :] + shift[None, :], mask=ok)
    tl.store(means + example * groups + group, mean)
    tl.store(rates + example * groups + group, rate)


@triton.jit
def gradient_kernel(
    x, slope, weight, means, rates, dx, dweight, dbias, batch, positions, channels, groups,
    SIZE: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    """dx of one example and group; its share of the weights' gradients: dweight, dbias [G * B, channels]."""
    example, group = tl.program_id(0).to(tl.int64), tl.program_id(1)
    own = tl.arange(0, WIDTH)
    channel, channel_ok = group * SIZE + own, own < SIZE
    x += example * positions * channels
    slope += example * positions * channels
    dx += example * positions * channels
    mean, rate = tl.load(means + example * groups + group), tl.load(rates + example * groups + group)
    scale = tl.load(weight + example // batch * channels + channel, mask=channel_ok, other=0.0)
    count = positions * SIZE
    if WHOLE:
        at, ok = _places(0, positions, channel, channel_ok, channels, BLOCK)
        given = tl.load(slope + at, mask=ok, other=0.0)
        normal = (tl.load(x + at, mask=ok, other=0.0) - mean) * rate
        on_weight, on_bias = tl.sum(given * normal, 0), tl.sum(given, 0)  # [WIDTH]
        pull, push = tl.sum(on_weight * scale) / count, tl.sum(on_bias * scale) / count
        tl.store(dx + at, (given * scale[None, :] - push - normal * pull) * rate, mask=ok)
    else:
        along, plain = tl.zeros((BLOCK, WIDTH), tl.float32), tl.zeros((BLOCK, WIDTH), tl.float32)
        for first in range(0, positions, BLOCK):
            at, ok = _places(first, positions, channel, channel_ok, channels, BLOCK)
            given = tl.load(slope + at, mask=ok, other=0.0)
            along += given * (tl.load(x + at, mask=ok, other=0.0) - mean) * rate
            plain += given
        on_weight, on_bias = tl.sum(along, 0), tl.sum(plain, 0)
        pull, push = tl.sum(on_weight * scale) / count, tl.sum(on_bias * scale) / count
        for first in range(0, positions, BLOCK):
            at, ok = _places(first, positions, channel, channel_ok, channels, BLOCK)
            normal = (tl.load(x + at, mask=ok, other=0.0) - mean) * rate
            given = tl.load(slope + at, mask=ok, other=0.0) * scale[None, :]
            tl.store(dx + at, (given - push - normal * pull) * rate, mask=ok)
    tl.store(dweight + example * channels + channel, on_weight, mask=channel_ok)
    tl.store(dbias + example * channels + channel, on_bias, mask=channel_ok)


def forward(x: Tensor, groups: int, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """`x` [G, B, channels, H, W] normalised, times `weight` [G, channels], plus `bias`; means, rates [G, B, groups]."""
    x = channels_last(x)
    y, means = x.new_empty(x.shape), x.new_empty(*x.shape[:2], groups)
    rates, batch, positions, channels = x.new_empty(means.shape), *_sizes(x)
    cut, warps = _blocks(channels, groups, positions)
    forward_kernel[(len(x) * batch, groups)](
        x, weight.contiguous(), bias.contiguous(), y, means, rates, batch, positions, channels, groups, eps,
        *cut, num_warps=warps,
    )  # fmt: skip
    return y.movedim(-1, 2), means, rates


def gradient(x: Tensor, slope: Tensor, weight: Tensor, means: Tensor, rates: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of x [G, B, channels, H, W], weight and bias [G, channels]."""
    x, slope, groups = channels_last(x), channels_last(slope), means.shape[2]
    batch, positions, channels = _sizes(x)
    dx, (dweight, dbias) = torch.empty_like(x), x.new_empty(2, len(x), batch, channels)
    cut, warps = _blocks(channels, groups, positions)
    gradient_kernel[(len(x) * batch, groups)](
        x, slope, weight.contiguous(), means, rates, dx, dweight, dbias, batch, positions, channels, groups,
        *cut, num_warps=warps,
    )  # fmt: skip
    return dx.movedim(-1, 2), total_of(dweight), total_of(dbias)


def channels_last(x: Tensor) -> Tensor:
    """[G, B, channels, ...] as contiguous [G, B, ..., channels]."""
    return x.movedim(2, -1).contiguous()


def _sizes(x: Tensor) -> tuple[int, int, int]:
    """Examples, positions and channels of [G, B, ..., channels]."""
    return x.shape[1], x[0, 0, ..., 0].numel(), x.shape[-1]


def _blocks(channels: int, groups: int, positions: int) -> tuple[tuple[int, int, int, bool], int]:
    """Channels of a group, the same as a power of two, positions read at a time, whether that is all; and warps."""
    size = channels // groups
    width, lines = int(triton.next_power_of_2(size)), int(triton.next_power_of_2(positions))
    whole = width * lines <= _WHOLE
    block = lines if whole else max(1, _BLOCK // width)
    return (size, width, block, whole), 8 if whole and width * lines > _WHOLE // 2 else 4
