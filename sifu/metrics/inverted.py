"""Accuracy on inverted images: what a network whose first layer was negated still knows."""

from __future__ import annotations

import torch

from sifu.metrics.metric import Models, Values


def inverted_accuracy(models: Models) -> Values:
    """Share of correct answers on inverted images (minus the normalised ones) of the clients to forget."""
    clients, device = models.engine.clients, models.engine.clients.images.device
    weights, chosen = models.weights.to(device), models.forget
    right = torch.zeros(len(weights), dtype=torch.float64)
    with torch.no_grad():
        for s, c in chosen.nonzero().tolist():
            count = int(clients.size[s, c])
            answers = models.engine.model.logits(weights[s], -clients.images[s, c, :count]).argmax(-1)
            right[s] += int((answers == clients.labels[s, c, :count]).sum())
    finite = weights.isfinite().all(1).cpu()  # infinite weights always answer with the first class: no knowledge
    return {"forget": right.where(finite, 0.0) / (models.size * chosen).sum(1)}
