"""A model with all weights in one flat row, so that all seeds are a matrix [S, P] and a cohort is [S, m, P].

A row may also hold k models side by side, [k P]: such an ensemble answers with the mean of their probabilities.
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from torch.func import functional_call

from sifu.catalog.datasets import DatasetSpec
from sifu.catalog.lookup import resolve
from sifu.catalog.models import MODELS
from sifu.config.optimiser import Optimiser, Sgd
from sifu.core.keys import Keys
from sifu.errors import SifuError
from sifu.models.check import build_module, check_parts
from sifu.models.layer_calls import LayerCalls, NoKey

_NORMALISATIONS = (nn.LayerNorm, nn.RMSNorm)  # their weights may have several axes


@dataclass(frozen=True)
class FlatModel:
    """A module as a pure function of (weights [P], images [n, ...])."""

    module: nn.Module
    kernels: str | None = None  # its version for many models at once on a GPU: see ModelSpec

    def __post_init__(self) -> None:
        check_parts(self.module, type(self.module).__name__)
        self.module.requires_grad_(False)

    @cached_property
    def names(self) -> list[str]:
        return [name for name, _ in self.module.named_parameters()]

    @cached_property
    def shapes(self) -> list[torch.Size]:
        return [parameter.shape for parameter in self.module.parameters()]

    @cached_property
    def sizes(self) -> list[int]:
        return [shape.numel() for shape in self.shapes]

    @property
    def num_weights(self) -> int:
        return sum(self.sizes)

    @property
    def own_loss(self) -> Callable[[Tensor, Tensor], Tensor] | None:
        """The loss that the module brings: what `forward(images, seen=True)` shows, and labels -> [n]; None: none."""
        return getattr(self.module, "own_loss", None)

    @property
    def own_optimiser(self) -> Callable[[Sgd], Optimiser] | None:
        """The local step that the module brings, from the federation's SGD; None: that itself."""
        return getattr(self.module, "own_optimiser", None)

    @cached_property
    def _copies(self) -> threading.local:
        """One module per thread: `functional_call` swaps weights in place, so threads must not share one."""
        return threading.local()

    @cached_property
    def memory_format(self) -> torch.memory_format:
        """The memory format of images on a CPU: convolutions and pooling are twice as fast with channels last."""
        has_convolution = any(isinstance(part, nn.Conv2d) for part in self.module.modules())
        return torch.channels_last if has_convolution else torch.contiguous_format

    def split(self, weights: Tensor) -> list[Tensor]:
        """The weights of each layer, in the order of the row. [..., size] each"""
        return list(weights.split(self.sizes, dim=-1))

    def layers(self, weights: Tensor) -> list[SimpleNamespace]:
        """The layers of models [..., P], first to last, with their parameters by name as views, such as `.weight`."""
        layers: dict[str, SimpleNamespace] = {}
        for name, part, shape in zip(self.names, self.split(weights), self.shapes, strict=True):
            owner, _, parameter = name.rpartition(".")
            view = part.unflatten(-1, shape) if shape else part.squeeze(-1)
            setattr(layers.setdefault(owner, SimpleNamespace(name=owner)), parameter, view)
        return list(layers.values())

    def linear_layers(self, weights: Tensor) -> list[SimpleNamespace]:
        """As `layers`, those that multiply their input by a matrix or a kernel: no normalisations, no lone numbers."""

        def is_linear(layer: SimpleNamespace) -> bool:
            weight = f"{layer.name}.weight".lstrip(".")
            normalises = isinstance(self.module.get_submodule(layer.name), _NORMALISATIONS)
            return weight in self.names and len(self.shapes[self.names.index(weight)]) > 1 and not normalises

        return [layer for layer in self.layers(weights) if is_linear(layer)]

    def logits(self, weights: Tensor, images: Tensor, *, training: bool = False, seen: bool = False) -> Tensor:
        """The module's output with the given weights [P] on images [n, C, H, W].

        `training`: with dropout, whose masks `LayerCalls` draws; else as in evaluation. `seen`: what the loss of a
        model with `own_loss` sees, [n, w]. Of several models side by side the logarithm of their mean probabilities.
        """
        if weights.shape[-1] > self.num_weights:
            each = torch.stack([self.logits(one, images, training=training) for one in self.models(weights)])
            return each.log_softmax(-1).logsumexp(0) - math.log(len(each))  # [n, classes]
        if not hasattr(self._copies, "module"):
            self._copies.module = copy.deepcopy(self.module).train(training)  # all its parts: some may differ
        if self._copies.module.training != training:
            self._copies.module.train(training)
        parts = zip(self.names, self.split(weights), self.shapes, strict=True)
        named = {name: part.view(shape) for name, part, shape in parts}
        more = {"seen": True} if seen else {}
        return functional_call(self._copies.module, named, (images,), more)  # [n, classes]

    def draws_masks(self, shape: tuple[int, ...]) -> bool:
        """Whether a step of training on images of this shape draws dropout masks; other random draws are refused."""
        example = next(self.module.parameters()).new_zeros(2, *shape)
        weights = torch.cat([part.flatten() for part in self.module.parameters()])
        try:
            with torch.no_grad(), LayerCalls(torch.zeros((), dtype=torch.int64, device=example.device)) as calls:
                self.logits(weights, example, training=True)
        except NoKey as problem:
            raise SifuError(f"model {type(self.module).__name__} {problem}") from None
        return calls.masks > 0

    def models(self, weights: Tensor) -> Tensor:
        """The models that rows hold side by side. [..., k P] -> [k, ..., P]"""
        return weights.unflatten(-1, (-1, self.num_weights)).movedim(-2, 0)

    def layer_norms(self, rows: Tensor) -> Tensor:
        """Euclidean norm of each layer's part of each row; of several models side by side, of all of them together."""
        if rows.shape[-1] > self.num_weights:
            return torch.stack([self.layer_norms(one) for one in self.models(rows)]).norm(dim=0)  # [..., layers]
        return torch.stack([part.norm(dim=-1) for part in self.split(rows)], dim=-1)  # [..., layers]

    def spread_layers(self, values: Tensor) -> Tensor:
        """Repeat each layer's value for all its weights: [..., layers] -> [..., P]."""
        sizes = torch.tensor(self.sizes, device=values.device)
        return values.repeat_interleave(sizes, dim=-1)

    def init(self, keys: Keys) -> Tensor:
        """Initial weights, one row per seed: U(-b, b) with b = 1/sqrt(fan in), torch's default for these layers."""
        rows = [self._init_parameter(keys, name) for name in self.names]
        return torch.cat(rows, dim=-1)  # [S, P]

    def _init_parameter(self, keys: Keys, name: str) -> Tensor:
        parameter = self.module.get_parameter(name)
        owner = self.module.get_submodule(name.rpartition(".")[0])
        weight = getattr(owner, "weight", parameter)
        if weight.dim() < 2 or isinstance(owner, _NORMALISATIONS):  # keeps its initial ones or zeros
            return parameter.detach().to(keys.state.device).flatten().expand(len(keys.state), -1)
        bound = weight[0].numel() ** -0.5
        draws = keys.fold("init", name).uniform(parameter.numel())
        return ((draws * 2.0 - 1.0) * bound).float()  # [S, size]


def build_model(name: str, spec: DatasetSpec) -> FlatModel:
    """The model of a scenario, for the images of its dataset."""
    entry = MODELS[name]
    return FlatModel(build_module(resolve(entry.builder), spec.shape, spec.num_classes, name), entry.kernels)
