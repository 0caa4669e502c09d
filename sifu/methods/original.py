"""Do nothing: the row that bounds every other from one side."""

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
class Original:
    """Keep the model as it is."""

    name: ClassVar[str] = "original"
    assumptions: ClassVar[Assumptions] = Assumptions(
        True, False, False, False, False, "nothing", "no unlearning at all"
    )

    @property
    def keeps(self) -> frozenset[Kept]:
        return frozenset()

    def with_certificate(self, certificate: Certificate) -> Original:
        return self

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        return Unlearned(server.hold(history.current, keys), history.end)

    def server_floats(self, footprint: Footprint) -> Tensor:
        return footprint.rounds * 0
