"""Accuracy on the clients' own data, and on the test set if there is one."""

from __future__ import annotations

from sifu.federation.evaluation import share
from sifu.metrics.metric import Models, Values


def accuracy(models: Models) -> Values:
    """Share of correct answers."""
    values = {subset: share(models.correct, models.size, mask) for subset, mask in models.masks.items()}
    return values if models.test_accuracy is None else values | {"test": models.test_accuracy}
