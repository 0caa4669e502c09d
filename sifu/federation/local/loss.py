"""What a local training minimises. A loss is a small named thing: a number for each example, from its logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div, log_softmax

Targets = Callable[[Tensor, Tensor], Tensor]  # a teacher's logits [B, classes], labels [B] -> logits to be learned


class Loss(Protocol):
    """The loss of each example of a batch."""

    @property
    def name(self) -> str: ...

    @property
    def teacher(self) -> Tensor | None:
        """The models [S, P] whose logits the loss is given; None: none."""
        ...

    def __call__(self, logits: Tensor, labels: Tensor, taught: Tensor | None) -> Tensor:
        """`logits` [B, classes], `labels` [B], the teacher's logits `taught` [B, classes] -> [B]."""
        ...


@dataclass(frozen=True)
class CrossEntropy:
    """-log p_y: what FedAvg trains with."""

    name: str = "cross-entropy"
    teacher: None = None

    def __call__(self, logits: Tensor, labels: Tensor, taught: Tensor | None) -> Tensor:
        return cross_entropy(logits, labels, reduction="none")


@dataclass(frozen=True)
class OwnLoss:
    """What a model brings (`own_loss`): it sees more of the model than its logits."""

    function: Callable[[Tensor, Tensor], Tensor]  # what the model shows [B, w], labels [B] -> [B]
    name: str = "the model's own"
    teacher: None = None
    sees_more: ClassVar[bool] = True

    def __call__(self, logits: Tensor, labels: Tensor, taught: Tensor | None) -> Tensor:
        return self.function(logits, labels)


def sees_more(loss: Loss) -> bool:
    """Whether a loss is given what the model shows beyond its logits, of student and teacher: `forward(..., seen)`."""
    return bool(getattr(loss, "sees_more", False))


@dataclass(frozen=True)
class Negative:
    """Another loss with the opposite sign: descending it is ascending the other. It has no lower bound."""

    loss: Loss

    @property
    def name(self) -> str:
        return f"negative {self.loss.name}"

    @property
    def teacher(self) -> Tensor | None:
        return self.loss.teacher

    @property
    def sees_more(self) -> bool:
        return sees_more(self.loss)

    def __call__(self, logits: Tensor, labels: Tensor, taught: Tensor | None) -> Tensor:
        return -self.loss(logits, labels, taught)


@dataclass(frozen=True)
class Unlikely:
    """-log(1 - p_y / 2): 0 where the label is thought impossible, log 2 at most (FedOSD's unlearning cross-entropy).

    Its slope p_y / (2 - p_y) (1[j = y] - p_j) vanishes where p_y is 0, and where it is 1.
    """

    name: str = "unlikely"
    teacher: None = None

    def __call__(self, logits: Tensor, labels: Tensor, taught: Tensor | None) -> Tensor:
        likely = logits.softmax(-1).gather(-1, labels[:, None])[:, 0]
        return -(-likely / 2).log1p()


@dataclass(frozen=True, eq=False)
class PseudoLabels:
    """Cross-entropy with the teacher's most likely class in place of the label."""

    teacher: Tensor  # [S, P]
    name: str = "pseudo-labels"

    def __call__(self, logits: Tensor, labels: Tensor, taught: Tensor | None) -> Tensor:
        assert taught is not None
        return cross_entropy(logits, taught.argmax(-1), reduction="none")


@dataclass(frozen=True, eq=False)
class Distillation:
    """KL(softmax(t(z) / T) || softmax(s / T)): s the student's logits, z the teacher's, t = `targets`.

    The teacher answers as in evaluation, without dropout; labels are seen by `targets` alone.
    """

    teacher: Tensor  # [S, P]
    temperature: float = 1.0
    targets: Targets = lambda logits, labels: logits
    name: str = "distillation"

    def __call__(self, logits: Tensor, labels: Tensor, taught: Tensor | None) -> Tensor:
        assert taught is not None
        goal = log_softmax(self.targets(taught, labels) / self.temperature, dim=-1)
        return kl_div(log_softmax(logits / self.temperature, dim=-1), goal, reduction="none", log_target=True).sum(-1)
