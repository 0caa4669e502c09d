"""Retrain from the first weights without those who leave: perfect, and the reference of every gap."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sifu.methods.method import Assumptions, Footprint, Unlearned, exact_claim
from sifu.settings import settings

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.kept import Kept
    from sifu.keys import Keys
    from sifu.lineage import History
    from sifu.requests import Request
    from sifu.scenario import Certificate
    from sifu.server import Server


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
