"""Train on with those who remain: no guarantee (paper, appendix A)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sifu.config.fields import settings
from sifu.unlearning.method import Assumptions, Footprint, Unlearned

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.config.certificate import Certificate
    from sifu.core.keys import Keys
    from sifu.unlearning.history import History
    from sifu.unlearning.kept import Kept
    from sifu.unlearning.request import Request
    from sifu.unlearning.server import Server


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
