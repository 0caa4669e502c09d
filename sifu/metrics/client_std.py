"""Fairness among those who remain."""

from __future__ import annotations

from sifu.metrics.metric import Models, Values


def client_std(models: Models) -> Values:
    """Standard deviation of the accuracy over the clients that remain."""
    own, which = models.correct.double() / models.size, ~models.forgotten  # [S, C]
    count = which.sum(1)
    mean = (own * which).sum(1) / count
    return {"retain": (((own - mean[:, None]) ** 2 * which).sum(1) / count).sqrt()}
