"""How far a model's accuracy is from scratch's."""

from __future__ import annotations

from sifu.metrics.accuracy import accuracy
from sifu.metrics.metric import Models, Values


def gap_to_scratch(models: Models) -> Values:
    """Absolute difference of the accuracy to that of scratch, run to its own target."""
    return _gap(models, models.scratch)


def gap_to_scratch_same_stop(models: Models) -> Values:
    """Absolute difference of the accuracy to that of scratch under the same stop rule."""
    return _gap(models, models.scratch_same_stop)


def _gap(models: Models, reference: Models | None) -> Values:
    if reference is None:
        return {}
    own, other = accuracy(models), accuracy(reference)
    return {subset: (own[subset] - other[subset]).abs() for subset in own}
