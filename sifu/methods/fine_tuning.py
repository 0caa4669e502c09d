"""Train on with those who remain: no guarantee (paper, appendix A)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sifu.methods.method import Assumptions, Footprint, Unlearned
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
class FineTuning:
    """Go on from the model in use."""

    name: ClassVar[str] = "fine_tuning"
    assumptions: ClassVar[Assumptions] = Assumptions(True, False, False, False, False, "nothing", "paper, section 2.1")

    @property
    def keeps(self) -> frozenset[Kept]:
        return frozenset()

    def with_certificate(self, certificate: Certificate) -> FineTuning:
        return self

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        return Unlearned(server.recover(history.current, keys), history.end)

    def server_floats(self, footprint: Footprint) -> Tensor:
        return footprint.rounds * 0
