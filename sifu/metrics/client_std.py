"""Fairness among the remaining clients."""

from __future__ import annotations

from sifu.metrics.metric import Models, Values


def client_std(models: Models) -> Values:
    """Standard deviation of the accuracy over the remaining clients."""
    accuracy, remaining = models.correct.double() / models.size, ~models.forgotten  # [S, C]
    count = remaining.sum(1)
    mean = (accuracy * remaining).sum(1) / count
    return {"retain": (((accuracy - mean[:, None]) ** 2 * remaining).sum(1) / count).sqrt()}
