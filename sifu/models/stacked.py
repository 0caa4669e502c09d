"""Networks of 3x3 convolutions and full layers for many models at once on a GPU, with our own kernels: the same
functions as those of models/cnn.py and models/paper.py.

A model's weights are one packed row: convolutions as [9 taps, channels in, channels out], full layers as [in, out] with
the channels of a position next to each other, every part padded to whole cache lines. Steps of SGD do not depend on the
order, so rows are packed at the start of a round and unpacked at its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sifu.core.keys import Keys
from sifu.hardware.kernels import convolution, dense
from sifu.hardware.kernels.layer import Input, Shape
from sifu.models.flat import FlatModel
from sifu.models.many import keyed_mask

_LINE = 32  # floats in a cache line


class Pass(NamedTuple):
    """What the backward pass needs from the forward pass."""

    inputs: list[Input]  # of each convolution
    args: list[Tensor]
    given: list[Tensor]  # of each full layer: [G, B, in]; the first are the last convolution's activations
    logits: Tensor  # [G, B, classes]
    dropped: float  # the share of the first full layer's results that were left out


@dataclass(frozen=True)
class StackedCnn:
    """A module of convolutions, then full layers with a ReLU between two, in the order of its parts.

    It says what follows each convolution: `pools` and `relus`. Dropout, if it has any, follows the first full layer.
    """

    model: FlatModel
    channels: int
    side: int

    knows_dropout = True

    @cached_property
    def layers(self) -> list[Shape]:
        """The convolutions."""
        net, layers, channels, side = self.model.module, [], self.channels, self.side
        convolutions = [part for part in net.children() if isinstance(part, nn.Conv2d)]
        for conv, pool, relu in zip(convolutions, net.pools, net.relus, strict=True):  # type: ignore[arg-type]
            layers.append(Shape(channels, side, conv.out_channels, pool, relu, int(conv.padding[0])))
            channels, side = conv.out_channels, layers[-1].out_side
        return layers

    @cached_property
    def _dropped(self) -> float:
        """The share of the first full layer's results that training leaves out."""
        dropouts = [part.p for part in self.model.module.children() if isinstance(part, nn.Dropout)]
        return dropouts[0] if dropouts else 0.0

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

    def forward(
        self, packed: Tensor, images: Tensor, rows: Tensor, *, learns: bool = True, masks: Keys | None = None
    ) -> Pass:
        """`packed` [G, P'], `rows` [G, B] of `images` [N, channels, side, side]; `learns`: a backward pass follows.

        `masks` [G]: the keys of dropout.
        """
        views, shown, inputs, args = self._views(packed), Input(images, rows), [], []
        for layer, weight in zip(self.layers, views, strict=False):
            inputs.append(shown)
            y, arg = convolution.forward(layer, shown, weight, learns=learns)
            args.append(arg)
            shown = Input(y, None)
        given, full = [shown.images.flatten(2)], views[len(self.layers) :]
        for weight in full[:-1]:
            hidden = dense.forward(given[-1], weight, relu=True)
            given.append(hidden if masks is None or len(given) > 1 else self._drop(hidden, masks))
        logits = dense.forward(given[-1], full[-1], relu=False)
        return Pass(inputs, args, given, logits, 0.0 if masks is None else self._dropped)

    def _drop(self, hidden: Tensor, masks: Keys) -> Tensor:
        """Dropout of `hidden` [G, B, n], with the draws of models/layer_calls.py."""
        mask = keyed_mask(masks.state, 0, hidden[0].numel(), 1 - self._dropped).view_as(hidden)
        return torch.where(mask, hidden / (1 - self._dropped), 0.0)

    def predict(self, weights: Tensor, images: Tensor, rows: Tensor) -> Tensor:
        """The classes of `rows` [R, n] of `images` [N, ...] under plain `weights` [R, P]: [R, n]."""
        return self.forward(self.pack(weights), images, rows, learns=False).logits.argmax(-1)

    def backward(self, packed: Tensor, done: Pass, slope: Tensor, gradient: Tensor) -> None:
        """Write into `gradient` [G, P'] from `slope` [G, B, classes], d loss / d logits."""
        weights, out, layers = self._views(packed), self._views(gradient), self.layers
        for number in reversed(range(len(done.given))):
            given, place = done.given[number], len(layers) + number
            dense.weight_gradient(given, slope, out[place])
            # a result that was left out is zero, as one of the ReLU
            slope = dense.input_gradient(given, slope, weights[place], relu=number > 0 or layers[-1].relu)
            if number == 1 and done.dropped:
                slope = slope / (1 - done.dropped)
        side = layers[-1].out_side
        slope = slope.unflatten(2, (side, side, layers[-1].out_channels))
        for number in reversed(range(len(layers))):
            layer, shown, arg = layers[number], done.inputs[number], done.args[number]
            convolution.weight_gradient(layer, shown, slope, arg, out[number])
            if number:
                relu = layers[number - 1].relu
                slope = convolution.input_gradient(layer, shown.images, slope, arg, weights[number], relu=relu)
