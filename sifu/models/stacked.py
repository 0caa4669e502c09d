"""Networks of three convolutions and two full layers for many models at once on a GPU, with our own kernels: the same
functions as those of models/cnn.py, and as CIFAR's of models/paper.py.

A model's weights are one packed row: convolutions as [9 taps, channels in, channels out], full layers as [in, out] with
the channels of a position next to each other, every part padded to whole cache lines. Steps of SGD do not depend on the
order, so rows are packed at the start of a round and unpacked at its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.hardware.kernels import convolution, dense
from sifu.hardware.kernels.convolution import Input, Shape
from sifu.models.cnn import Cnn
from sifu.models.flat import FlatModel
from sifu.models.paper import CnnCifar

_LINE = 32  # floats in a cache line


class Pass(NamedTuple):
    """What the backward pass needs from the forward pass."""

    inputs: list[Input]  # of each convolution
    args: list[Tensor]
    features: Tensor  # [G, B, F] the last convolution's activations
    hidden: Tensor  # [G, B, 64]
    logits: Tensor  # [G, B, classes]


@dataclass(frozen=True)
class StackedCnn:
    model: FlatModel
    channels: int
    side: int

    @cached_property
    def layers(self) -> list[Shape]:
        net = self.model.module
        assert isinstance(net, Cnn | CnnCifar)
        layers, channels, side = [], self.channels, self.side
        for conv, pool, relu in zip((net.conv1, net.conv2, net.conv3), net.pools, net.relus, strict=True):
            layers.append(Shape(channels, side, conv.out_channels, pool, relu))
            channels, side = conv.out_channels, layers[-1].out_side
        return layers

    @cached_property
    def _parts(self) -> list[Tensor]:
        """For each layer the positions of its weights in a plain row: [rows in + 1, channels out], the bias last."""
        numbers = torch.arange(self.model.num_weights).split(self.model.sizes)
        shaped = [part.view(shape) for part, shape in zip(numbers, self.model.shapes, strict=True)]
        parts: list[Tensor] = []
        for weight, bias in zip(shaped[::2], shaped[1::2], strict=True):
            if weight.dim() == 4:
                weight = weight.permute(2, 3, 1, 0).flatten(0, 2)  # [9 * in, out]
            elif len(parts) == len(self.layers):  # the first full layer sees the convolutions' channels last
                channels = self.layers[-1].out_channels
                weight = weight.unflatten(1, (channels, -1)).permute(2, 1, 0).flatten(0, 1)  # [side^2 * in, out]
            else:
                weight = weight.t()
            parts.append(torch.cat([weight, bias[None]]))
        return parts

    @cached_property
    def _starts(self) -> list[int]:
        """The start of each part in a packed row, and the end of the last."""
        starts = [0]
        for part in self._parts:
            starts.append(-(-(starts[-1] + part.numel()) // _LINE) * _LINE)
        return starts

    @cached_property
    def _places(self) -> Tensor:
        """The position in a packed row of each weight of a plain row, on the model's device. [P]"""
        places = torch.empty(self.model.num_weights, dtype=torch.int64)
        for start, part in zip(self._starts, self._parts, strict=False):
            places[part.flatten()] = start + torch.arange(part.numel())
        return places.to(next(self.model.module.parameters()).device)

    def pack(self, rows: Tensor) -> Tensor:
        """Plain rows [..., P] as packed rows [..., P'], with zeros between the parts."""
        packed = rows.new_zeros(*rows.shape[:-1], self._starts[-1])
        return packed.index_copy_(-1, self._places, rows)

    def unpack(self, packed: Tensor) -> Tensor:
        """Packed rows [..., P'] as plain rows [..., P]."""
        return packed.index_select(-1, self._places)

    def _views(self, packed: Tensor) -> list[Tensor]:
        """The layers of packed rows [G, P']: [G, rows in + 1, channels out] each."""
        return [
            packed[:, start : start + part.numel()].unflatten(1, part.shape)
            for start, part in zip(self._starts, self._parts, strict=False)
        ]

    def forward(self, packed: Tensor, images: Tensor, rows: Tensor, *, learns: bool = True) -> Pass:
        """`packed` [G, P'], `rows` [G, B] of `images` [N, channels, side, side]; `learns`: a backward pass follows."""
        *convolutions, first, second = self._views(packed)
        given, inputs, args = Input(images, rows), [], []
        for layer, weight in zip(self.layers, convolutions, strict=True):
            inputs.append(given)
            y, arg = convolution.forward(layer, given, weight, learns=learns)
            args.append(arg)
            given = Input(y, None)
        features = given.images.flatten(2)
        hidden = dense.forward(features, first, relu=True)
        logits = dense.forward(hidden, second, relu=False)
        return Pass(inputs, args, features, hidden, logits)

    def predict(self, weights: Tensor, images: Tensor, rows: Tensor) -> Tensor:
        """The classes of `rows` [R, n] of `images` [N, ...] under plain `weights` [R, P]: [R, n]."""
        return self.forward(self.pack(weights), images, rows, learns=False).logits.argmax(-1)

    def backward(self, packed: Tensor, done: Pass, slope: Tensor, gradient: Tensor) -> None:
        """Write into `gradient` [G, P'] from `slope` [G, B, classes], d loss / d logits."""
        weights, out, last = self._views(packed), self._views(gradient), self.layers[-1]
        for number, given, relu in ((4, done.hidden, True), (3, done.features, last.relu)):
            dense.weight_gradient(given, slope, out[number])
            slope = dense.input_gradient(given, slope, weights[number], relu=relu)
        slope = slope.unflatten(2, (last.out_side, last.out_side, last.out_channels))
        for number in (2, 1, 0):
            layer, images, arg = self.layers[number], done.inputs[number], done.args[number]
            convolution.weight_gradient(layer, images, slope, arg, out[number])
            if number:
                slope = convolution.input_gradient(layer, images.images, slope, arg, weights[number])
