"""Models by name, a line each. Read while the Snakefile is parsed: nothing heavy is imported here."""

from __future__ import annotations

import ast
from typing import NamedTuple

from sifu.catalog.lookup import refuse_missing, resolve, split
from sifu.catalog.registry import Catalog
from sifu.catalog.source import definition
from sifu.errors import SifuError


class ModelSpec(NamedTuple):
    builder: str  # "module:function", called with (shape, num_classes), gives a torch.nn.Module
    shape: tuple[int, int, int] | None = None  # the only input shape it takes; None: any
    kernels: str | None = None  # "module:class" of its twin for many models at once on a GPU; None: through vmap
    only_images: bool = False  # it takes no vectors of features

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether inputs may have this shape, as far as the entry says."""
        if self.only_images and len(shape) != 3:
            return False
        return self.shape in (None, shape)


_OTHERS_28, _OTHERS_64 = ("narrow", "wide", "pooled"), ("narrow", "wide", "unpooled")
_STACKED = "sifu.models.stacked:StackedCnn"

_OWN: dict[str, ModelSpec] = {
    "logistic": ModelSpec("sifu.models.logistic:Logistic"),
    "cnn28": ModelSpec("sifu.models.cnn:cnn28", (1, 28, 28), _STACKED),
    "cnn32": ModelSpec("sifu.models.cnn:cnn32", (3, 32, 32), _STACKED),
    "cnn64": ModelSpec("sifu.models.cnn:cnn64", (3, 64, 64), _STACKED),
    **{f"cnn28_{kind}": ModelSpec(f"sifu.models.cnn:cnn28_{kind}", (1, 28, 28), _STACKED) for kind in _OTHERS_28},
    **{f"cnn64_{kind}": ModelSpec(f"sifu.models.cnn:cnn64_{kind}", (3, 64, 64), _STACKED) for kind in _OTHERS_64},
    # those of the paper's repository
    "cnn_fashionmnist": ModelSpec("sifu.models.paper:cnn_fashionmnist", (1, 28, 28)),
    "cnn_cifar10": ModelSpec("sifu.models.paper:cnn_cifar10", (3, 32, 32)),
    "cnn_cifar100": ModelSpec("sifu.models.paper:cnn_cifar100", (3, 32, 32)),
    "cnn_celeba": ModelSpec("sifu.models.paper:cnn_celeba", (3, 64, 64)),
    # with a loss of their own, for methods that need it
    "variational": ModelSpec("sifu.models.variational:Variational"),
    "particles": ModelSpec("sifu.models.particles:Particles"),
    # others
    "resnet8": ModelSpec("sifu.models.resnet:resnet8", only_images=True),
    "resnet20": ModelSpec("sifu.models.resnet:resnet20", only_images=True),
}


def _model(target: str) -> ModelSpec:
    """The entry of a model from outside: a builder, or a ModelSpec; a class or function is known without an import."""
    refuse_missing(target)
    if isinstance(definition(*split(target)), ast.ClassDef | ast.FunctionDef):
        return ModelSpec(target)
    found = resolve(target)
    if isinstance(found, ModelSpec):
        return found
    if not callable(found):
        raise SifuError(f"{target} is no model: name a function or class that is called with (shape, num_classes)")
    return ModelSpec(target)


MODELS: Catalog[ModelSpec] = Catalog("models", _OWN, _model)
