"""Several logistic regressions side by side, as particles of a distribution: the model of SVGD (Forget-SVGD)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from sifu.config.optimiser import Sgd, Svgd

COUNT = 5
_TEMPERATURE = 1e-3


class Particles(nn.Module):
    """N particles theta_n; the answer is their mean probability. A local step is one of SVGD, which moves all of them.

    With the mean loss F the particles approach exp(-F / alpha), alpha the temperature. 39,250 weights for MNIST.
    """

    def __init__(self, shape: tuple[int, int, int], num_classes: int) -> None:
        super().__init__()
        self.particles = nn.ModuleList(nn.Linear(math.prod(shape), num_classes) for _ in range(COUNT))

    def forward(self, images: Tensor, *, seen: bool = False) -> Tensor:
        """Log-probabilities [n, classes]; `seen`: the logits of all particles instead, [n, N classes]."""
        each = torch.stack([particle(images.flatten(1)) for particle in self.particles], dim=1)  # [n, N, classes]
        return each.flatten(1) if seen else each.log_softmax(2).logsumexp(1) - math.log(len(self.particles))

    @staticmethod
    def own_loss(row: Tensor, labels: Tensor) -> Tensor:
        """The sum over particles of each one's own loss, so that each has its own gradient. [n]"""
        each = row.unflatten(1, (COUNT, -1))  # [n, N, classes]
        losses = cross_entropy(each.flatten(0, 1), labels.repeat_interleave(COUNT), reduction="none")
        return losses.unflatten(0, (-1, COUNT)).sum(1)

    @staticmethod
    def own_optimiser(sgd: Sgd) -> Svgd:
        """The step of SVGD with the settings of the federation's SGD."""
        return Svgd(
            lr=sgd.lr,
            momentum=sgd.momentum,
            clip=sgd.clip,
            weight_decay=sgd.weight_decay,
            particles=COUNT,
            temperature=_TEMPERATURE,
        )
