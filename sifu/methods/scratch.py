"""Retrain from the first weights without those who leave: perfect, and the reference of every gap."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sifu.config.fields import settings
from sifu.unlearning.method import Assumptions, Footprint, Unlearned, exact_claim

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.config.certificate import Certificate
    from sifu.core.keys import Keys
    from sifu.unlearning.history import History
    from sifu.unlearning.kept import Kept
    from sifu.unlearning.request import Request
    from sifu.unlearning.server import Server


@settings
class Scratch:
    """Start again from the training's own initial weights."""

    name: ClassVar[str] = "scratch"
    assumptions: ClassVar[Assumptions] = Assumptions(
        True, True, True, False, False, "the initial model", "paper, section 2.1"
    )

    @property
    def keeps(self) -> frozenset[Kept]:
        return frozenset()

    def with_certificate(self, certificate: Certificate) -> Scratch:
        return self

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        return Unlearned(server.recover(history.start, keys), history.nowhere, exact_claim(request))

    def server_floats(self, footprint: Footprint) -> Tensor:
        return footprint.rounds * 0 + footprint.num_weights
