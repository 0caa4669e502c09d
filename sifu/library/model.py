"""The model that a user gives: a name of the catalog, a function that builds it, or a module."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from torch import nn

from sifu.catalog.lookup import resolve
from sifu.catalog.models import MODELS, ModelSpec
from sifu.config.known import known
from sifu.errors import ConfigError
from sifu.models.check import build_module, check_module
from sifu.models.flat import FlatModel

Builder = Callable[[Any, int], nn.Module]  # from the shape of an image and the number of classes
Model = str | nn.Module | Builder


def flat_model(model: Model, shape: tuple[int, ...], num_classes: int) -> FlatModel:
    """The model for images of a shape and a number of classes, checked; of a module only the architecture is used."""
    name, kernels = model_name(model), None
    if isinstance(model, str):
        spec = _entry(model, shape)
        kernels, module = spec.kernels, build_module(resolve(spec.builder), shape, num_classes, name)
    elif isinstance(model, nn.Module):
        module = model
    elif callable(model):
        module = build_module(model, shape, num_classes, name)
    else:
        raise ConfigError("model", model, "a name of the catalog, a torch.nn.Module, or a function that builds one")
    if isinstance(module, nn.Module):
        module = copy.deepcopy(module).cpu()  # the user's own keeps its weights, and its device
    check_module(module, shape, num_classes, name)
    return FlatModel(module, kernels)


def model_name(model: Model) -> str:
    """The catalog's name, or that of the class or function."""
    if isinstance(model, str):
        return model
    return str(getattr(model, "__name__", type(model).__name__))


def _entry(name: str, shape: tuple[int, ...]) -> ModelSpec:
    """The catalog's entry, or that of a "module:name"; one that takes images of another shape is refused."""
    allowed = known(MODELS)
    if not allowed.test(name):
        raise ConfigError("model", name, allowed.text, allowed.hint(name))
    spec = MODELS[name]
    if not spec.takes(shape):
        fitting = [other for other, model in MODELS.own.items() if model.takes(shape)]
        raise ConfigError("model", name, f"{' | '.join(fitting)} (for images of {list(shape)})")
    return spec
