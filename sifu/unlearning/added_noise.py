"""The noise that a method really adds, whatever it promises: it is asked twice, with other keys the second time.

What both answers add to the model before the noise differs by two draws of the noise alone; whatever else a method adds
(another model than it says, a constant) is the same in both, and falls out. That difference divided by the root of 2 is
a new draw of Gaussian noise with whatever variance the method's has; of none it is exactly 0.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.config.optimiser import Optimiser
from sifu.core.keys import Keys
from sifu.federation.segment import Segment
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Unlearned
from sifu.unlearning.server import Server


class SameRecovery(Server):
    """A server that has recovered before: from the same model it gives the same segment again, whatever the keys."""

    known: Segment | None = None

    def recover(
        self,
        start: Tensor,
        keys: Keys,
        at_most: Tensor | None = None,
        counted: Tensor | None = None,
        optimiser: Optimiser | None = None,
    ) -> Segment:
        """As `Server.recover`, but from the start of the segment that is known."""
        if self.known is not None and torch.equal(start.cpu().nan_to_num(), self.known.start.cpu().nan_to_num()):
            return self._paid(self.known)
        return super().recover(start, keys, at_most, counted, optimiser)


def node_model(lineage: Lineage, answer: Unlearned) -> Tensor:
    """The model of the node that an answer grew from. [S, P]"""
    model = lineage.at(answer.node.round, answer.node.branch, dropped=True)
    if answer.initial is None:
        return model
    return torch.where((answer.node.branch < 0).to(model.device)[:, None], answer.initial.to(model.device), model)


def before_noise(lineage: Lineage, answer: Unlearned) -> Tensor:
    """The model that the noise of a promise was added to. [S, P]"""
    assert answer.promise is not None
    if answer.promise.noise == "end":
        return answer.segment.final
    return node_model(lineage, answer) if answer.promise.blurred is None else answer.promise.blurred


def with_noise(answer: Unlearned) -> Tensor:
    """The same model with its noise. [S, P]"""
    assert answer.promise is not None
    return answer.weights if answer.promise.noise == "end" else answer.segment.start


def new_noise(lineage: Lineage, first: Unlearned, second: Unlearned) -> Tensor:
    """A new draw of the noise, from two answers to the same request with other keys. [S, P], on the CPU"""
    added = [with_noise(answer).cpu() - before_noise(lineage, answer).cpu() for answer in (first, second)]
    return (added[0] - added[1]) / 2**0.5
