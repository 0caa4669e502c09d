"""Layers of many models at once, as operations that torch.func understands.

`vmap` turns a layer with weights of its own for every model into a grouped convolution or a batched product of torch's.
These are slow, and their sums depend in the last bit on how many models there are. An operation here tells `vmap` to
call our kernels instead, with all models stacked: tensors [G, ...].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import Function


class Operation(Protocol):
    """A layer's work for G models at once."""

    @property
    def forward(self) -> Callable[..., tuple[Tensor, ...]]:
        """(what is given: input and weights) -> the result [G, ...], and what else the gradient needs."""
        ...

    @property
    def gradient(self) -> Callable[..., tuple[Tensor | None, ...]]:
        """(slope, whether the input's is needed, what was given, what else `forward` gave) -> gradients of it."""
        ...


def apply(operation: Operation, *given: Tensor) -> Tensor:
    """The operation for the models that `vmap` runs, or for one model outside of it."""
    result: Tensor = _Forward.apply(operation, *given)[0]
    return result


class _Forward(Function):
    @staticmethod
    def forward(operation: Operation, *given: Tensor) -> tuple[Tensor, ...]:
        return tuple(part[0] for part in operation.forward(*(tensor.unsqueeze(0) for tensor in given)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.operation = inputs[0]
        ctx.given = len(inputs) - 1
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*inputs[1:], *output[1:])

    @staticmethod
    def backward(ctx: Any, slope: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        needs_input = ctx.needs_input_grad[1]
        gradients = _Backward.apply(ctx.operation, needs_input, ctx.given, slope, *ctx.saved_tensors)
        return (None, *gradients) if needs_input else (None, None, *gradients)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], operation: Operation, *given: Tensor) -> Any:
        result = operation.forward(*_stacked(info.batch_size, in_dims[1:], given))
        return result, (0,) * len(result)


class _Backward(Function):
    @staticmethod
    def forward(operation: Operation, needs_input: bool, given: int, slope: Tensor, *saved: Tensor) -> Any:
        stacked = (tensor.unsqueeze(0) for tensor in (slope, *saved))
        return tuple(part[0] for part in _gradients(operation, needs_input, *stacked))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output)

    @staticmethod
    def vmap(
        info: Any,
        in_dims: tuple[int | None, ...],
        operation: Operation,
        needs_input: bool,
        given: int,
        slope: Tensor,
        *saved: Tensor,
    ) -> Any:
        result = _gradients(operation, needs_input, *_stacked(info.batch_size, in_dims[3:], (slope, *saved)))
        return result, (0,) * len(result)


def _gradients(operation: Operation, needs_input: bool, slope: Tensor, *saved: Tensor) -> tuple[Tensor, ...]:
    """The gradients that are needed, without gaps."""
    return tuple(part for part in operation.gradient(slope, needs_input, *saved) if part is not None)


def _stacked(models: int, in_dims: tuple[int | None, ...], tensors: tuple[Tensor, ...]) -> list[Tensor]:
    """Tensors with the models as their first axis; one that all models share is repeated without a copy."""
    pairs = zip(tensors, in_dims, strict=True)
    return [tensor.expand(models, *tensor.shape) if axis is None else tensor.movedim(axis, 0) for tensor, axis in pairs]


class Convolution:
    """x [G, B, in, H, W], weight [G, out, in, h, w] (, bias [G, out]) -> [G, B, out, H', W']."""

    def __init__(self, stride: int, padding: int, dilation: int) -> None:
        self.settings = stride, padding, dilation

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> tuple[Tensor, Tensor]:
        from sifu.hardware.kernels import conv2d

        packed = conv2d.pack(weight)
        return conv2d.forward(self._layer(x, weight), x, packed, bias), packed

    def gradient(self, slope: Tensor, needs_input: bool, x: Tensor, weight: Tensor, *rest: Tensor) -> Any:
        from sifu.hardware.kernels import conv2d

        (*bias, packed), layer = rest, self._layer(x, weight)
        dx = conv2d.input_gradient(layer, slope, packed) if needs_input else None
        dweight, dbias = conv2d.weight_gradient(layer, x, slope, has_bias=bool(bias))
        return dx, dweight, dbias if bias else None

    def _layer(self, x: Tensor, weight: Tensor) -> Any:
        from sifu.hardware.kernels.conv2d import Layer

        _, out, channels, height, width = weight.shape
        return Layer(channels, x.shape[3], x.shape[4], out, (height, width), *self.settings)


class FullLayer:
    """x [G, ..., in], weight [G, out, in] (, bias [G, out]) -> [G, ..., out]: a convolution of images of one pixel."""

    def forward(self, x: Tensor, weight: Tensor, *bias: Tensor) -> tuple[Tensor, Tensor]:
        y, packed = Convolution(1, 0, 1).forward(_pixels(x), weight[..., None, None], *bias)
        return y.reshape(*x.shape[:-1], weight.shape[1]), packed

    def gradient(self, slope: Tensor, needs_input: bool, x: Tensor, weight: Tensor, *rest: Tensor) -> Any:
        saved = _pixels(x), weight[..., None, None], *rest
        dx, dweight, dbias = Convolution(1, 0, 1).gradient(_pixels(slope), needs_input, *saved)
        return None if dx is None else dx.reshape(x.shape), dweight.flatten(2), dbias


class MaxPool:
    """x [G, B, channels, H, W] -> the maximum of every `size` x `size` window; windows do not overlap."""

    def __init__(self, size: int) -> None:
        self.size = size

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        from sifu.hardware.kernels import max_pool

        return max_pool.forward(x, self.size)

    def gradient(self, slope: Tensor, needs_input: bool, x: Tensor, which: Tensor) -> Any:
        from sifu.hardware.kernels import max_pool

        return (max_pool.gradient(slope, which, x.shape[3:], self.size),)


class GroupNorm:
    """x [G, B, channels, ...], weight and bias [G, channels] -> as x, normalised within each example's groups."""

    def __init__(self, groups: int, eps: float) -> None:
        self.groups, self.eps = groups, eps

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        from sifu.hardware.kernels import group_norm

        return group_norm.forward(x, self.groups, weight, bias, self.eps)

    def gradient(self, slope: Tensor, needs_input: bool, x: Tensor, weight: Tensor, *rest: Tensor) -> Any:
        from sifu.hardware.kernels import group_norm

        _, means, rates = rest
        dx, dweight, dbias = group_norm.gradient(x, slope, weight, means, rates)
        return dx if needs_input else None, dweight, dbias


class LayerNorm:
    """x [G, ..., n numbers], weight and bias [G, n]: group normalisation of n channels in one group, one position."""

    def __init__(self, eps: float) -> None:
        self.norm = GroupNorm(1, eps)

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        y, means, rates = self.norm.forward(_rows(x, weight), weight.flatten(1), bias.flatten(1))
        return y.reshape(x.shape), means, rates

    def gradient(self, slope: Tensor, needs_input: bool, x: Tensor, weight: Tensor, *rest: Tensor) -> Any:
        saved = _rows(x, weight), weight.flatten(1), *rest
        dx, dweight, dbias = self.norm.gradient(_rows(slope, weight), needs_input, *saved)
        return None if dx is None else dx.reshape(x.shape), dweight.view_as(weight), dbias.view_as(weight)


def _pixels(x: Tensor) -> Tensor:
    """[G, ..., n] as images of one pixel with n channels. [G, N, n, 1, 1]"""
    return x.reshape(len(x), -1, x.shape[-1], 1, 1)


def _rows(x: Tensor, weight: Tensor) -> Tensor:
    """[G, ..., numbers as in weight [G, ...]] as [G, N, n, 1]."""
    return x.reshape(len(x), -1, weight[0].numel(), 1)


def keyed_mask(key: Tensor, call: int, count: int, share: float) -> Tensor:
    """`count` keyed draws for one model: True with probability `share`. `key` is a number, or one a model in `vmap`."""
    if key.device.type == "cpu":  # operations of torch, which `vmap` knows; a Function of one's own takes a millisecond
        return _mask(key, call, count, share)
    mask: Tensor = _Mask.apply(key, call, count, share)
    return mask


class _Mask(Function):
    @staticmethod
    def forward(key: Tensor, call: int, count: int, share: float) -> Tensor:
        return _mask(key, call, count, share)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: Any, in_dims: Any, key: Tensor, call: int, count: int, share: float) -> Any:
        return _mask(key, call, count, share), 0


def _mask(key: Tensor, call: int, count: int, share: float) -> Tensor:
    """Bits are uniform over all 64-bit numbers: the smallest `1 - share` of them are False. [..., count] bool"""
    from sifu.core.keys import Keys

    lowest = round((1 - share) * 2**64) - 2**63
    bits = Keys(key).fold(call).bits(count)
    return bits >= lowest if lowest < 2**63 else torch.zeros_like(bits, dtype=torch.bool)
