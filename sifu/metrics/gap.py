"""The distance of a model's accuracy from scratch's."""

from __future__ import annotations

from sifu.metrics.accuracy import shares
from sifu.metrics.metric import Models, Values


def gap_to_scratch(models: Models) -> Values:
    """Absolute difference from the accuracy of scratch, which runs to its own target."""
    return _gap(models, models.scratch)


def gap_to_scratch_same_stop(models: Models) -> Values:
    """Absolute difference from the accuracy of scratch under the same stop rule."""
    return _gap(models, models.scratch_same_stop)


def _gap(models: Models, reference: Models | None) -> Values:
    if reference is None:
        return {}
    values, expected = shares(models), shares(reference)
    return {subset: (values[subset] - expected[subset]).abs() for subset in values}
