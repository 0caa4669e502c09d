"""The model that a user gives: a name of the catalog, a function that builds it, or a module."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from sifu.catalog.datasets import DatasetSpec
from sifu.catalog.models import MODELS
from sifu.core.keys import Keys
from sifu.errors import ConfigError, SifuError, did_you_mean
from sifu.models.flat import FlatModel, build_model

Builder = Callable[[Any, int], nn.Module]  # from the shape of an image and the number of classes
Model = str | nn.Module | Builder


def flat_model(model: Model, shape: tuple[int, ...], num_classes: int) -> FlatModel:
    """The model for images of a shape and a number of classes; of a module only the architecture is used."""
    if isinstance(model, str):
        return _named(model, shape, num_classes)
    if isinstance(model, nn.Module):
        return FlatModel(copy.deepcopy(model))  # the user's own keeps its weights
    if not callable(model):
        raise ConfigError("model", model, "a name of the catalog, a torch.nn.Module, or a function that builds one")
    try:
        module = model(shape, num_classes)
    except Exception as error:
        raise SifuError(f"the model could not be built for images of {list(shape)}: {_words(error)}") from error
    if not isinstance(module, nn.Module):
        raise SifuError(f"the function that builds the model gave {type(module).__name__}, not a torch.nn.Module")
    return FlatModel(module)


def model_name(model: Model) -> str:
    """The catalog's name, or that of the class or function."""
    if isinstance(model, str):
        return model
    return str(getattr(model, "__name__", type(model).__name__))


def refuse_outputs(model: FlatModel, images: Tensor, num_classes: int) -> None:
    """Refuse a model that does not answer `images` [n, ...] with a number for each class."""
    weights = model.init(Keys.of([0]))[0]
    try:
        with torch.no_grad():
            answers = model.logits(weights, images)
    except Exception as error:
        raise SifuError(f"the model fails on images of {list(images.shape)}: {_words(error)}") from error
    wanted = [len(images), num_classes]
    if not isinstance(answers, Tensor) or list(answers.shape) != wanted:
        found = list(answers.shape) if isinstance(answers, Tensor) else type(answers).__name__
        raise SifuError(f"the model answers {len(images)} images with {found}, not with a number a class, {wanted}")


def _named(name: str, shape: tuple[int, ...], num_classes: int) -> FlatModel:
    """A model of the catalog; features are to it an image of one row."""
    channels, height, width = shape if len(shape) == 3 else (1, 1, *shape)
    spec = DatasetSpec((channels, height, width), num_classes, mean=(), std=(), sources={})
    if name not in MODELS:
        raise ConfigError("model", name, " | ".join(MODELS) + did_you_mean(name, MODELS))
    if MODELS[name].shape not in (None, spec.shape):
        fitting = [other for other, model in MODELS.items() if model.shape in (None, spec.shape)]
        raise ConfigError("model", name, f"{' | '.join(fitting)} (for images of {list(shape)})")
    return build_model(name, spec)


def _words(error: Exception) -> str:
    """An error on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
