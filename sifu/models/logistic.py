"""Multinomial logistic regression: the paper's convex case."""

from __future__ import annotations

import math

from torch import Tensor, nn


class Logistic(nn.Module):
    """One linear layer on the pixels; its loss is convex in the weights."""

    def __init__(self, shape: tuple[int, int, int], num_classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(math.prod(shape), num_classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.linear(images.flatten(1))  # [n, classes]
