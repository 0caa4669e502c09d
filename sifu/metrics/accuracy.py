"""Accuracy on the clients' own data, and on the test set if there is one."""

from __future__ import annotations

from torch import Tensor

from sifu.federation.evaluation import share
from sifu.metrics.metric import Models, Values


def accuracy(models: Models) -> Values:
    """Share of correct answers."""
    return dict(shares(models))


def shares(models: Models) -> dict[str, Tensor]:
    """The share of correct answers on each subset. [S] each"""
    values = {subset: share(models.correct, models.size, mask) for subset, mask in models.masks.items()}
    return values if models.test_accuracy is None else values | {"test": models.test_accuracy}
