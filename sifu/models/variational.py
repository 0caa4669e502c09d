"""A classifier with one stochastic layer: the model of variational methods (BFU)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

WIDTH = 32  # units of the stochastic layer
_BETA = 1e-3  # weight of the divergence in training; of BFU's authors for MNIST


class Seen(NamedTuple):
    """What a loss sees of a batch: logits of the draw, and the distribution that it was drawn from."""

    logits: Tensor  # [n, classes]
    mean: Tensor  # [n, width] mu
    log_variance: Tensor  # [n, width] lv

    @staticmethod
    def of(row: Tensor, width: int = WIDTH) -> Seen:
        """The parts of rows [n, classes + 2 width]."""
        return Seen(*row.split([row.shape[1] - 2 * width, width, width], dim=1))

    def divergence(self, mean: Tensor, log_variance: Tensor) -> Tensor:
        """KL(q || N(mean, e^log_variance)) of each example, its mean over the units. [n]"""
        ratio = (self.log_variance - log_variance).exp() + (self.mean - mean).square() * (-log_variance).exp()
        return (ratio - 1 + log_variance - self.log_variance).mean(1) / 2


class Variational(nn.Module):
    """x -> z ~ q(z | x) = N(mu, diag(e^lv)) -> logits, linear in z; mu and lv are linear in the pixels.

    In training z is drawn; in evaluation it is mu. The loss is CE + beta KL(q || N(0, 1)). 50,570 weights for MNIST.
    """

    def __init__(self, shape: tuple[int, int, int], num_classes: int) -> None:
        super().__init__()
        self.code = nn.Linear(math.prod(shape), 2 * WIDTH)
        self.head = nn.Linear(WIDTH, num_classes)

    def forward(self, images: Tensor, *, seen: bool = False) -> Tensor:
        """Logits [n, classes]; `seen`: with mu and lv behind them."""
        mean, log_variance = self.code(images.flatten(1)).chunk(2, dim=1)  # [n, width] each
        drawn = mean + (log_variance / 2).exp() * torch.randn_like(mean) if self.training else mean
        logits = self.head(drawn)
        return torch.cat([logits, mean, log_variance], dim=1) if seen else logits

    @staticmethod
    def own_loss(row: Tensor, labels: Tensor) -> Tensor:
        """The training loss of each example. [n]"""
        seen = Seen.of(row)
        standard = torch.zeros_like(seen.mean)
        return cross_entropy(seen.logits, labels, reduction="none") + _BETA * seen.divergence(standard, standard)
