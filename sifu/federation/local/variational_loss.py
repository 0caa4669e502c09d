"""The loss of BFU, on models with a stochastic layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from sifu.federation.local.loss import CrossEntropy, Loss
from sifu.models.variational import WIDTH, Seen

_CROSS_ENTROPY = CrossEntropy()


@dataclass(frozen=True, eq=False)
class Retraction:
    """KL(q || q_teacher) - lambda CE: q(z | x) stays close to the teacher's while the labels become unlikely."""

    teacher: Tensor  # [S, P]
    factor: float  # lambda
    likelihood: Loss = _CROSS_ENTROPY
    width: int = WIDTH  # units of the stochastic layer
    name: str = "retraction"
    sees_more: ClassVar[bool] = True

    def __call__(self, logits: Tensor, labels: Tensor, taught: Tensor | None) -> Tensor:
        assert taught is not None
        now, before = Seen.of(logits, self.width), Seen.of(taught, self.width)
        kept = now.divergence(before.mean, before.log_variance)
        return kept - self.factor * self.likelihood(now.logits, labels, None)
