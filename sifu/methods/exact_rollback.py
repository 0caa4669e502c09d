"""Go back to before any of the leavers first took part: exact, and free for clients that never did."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sifu.config.fields import settings
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Footprint, Unlearned, exact_claim

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.config.certificate import Certificate
    from sifu.core.keys import Keys
    from sifu.unlearning.history import History
    from sifu.unlearning.request import Request
    from sifu.unlearning.server import Server


@settings
class ExactRollback:
    """Restart from the last model that none of the leavers has touched."""

    name: ClassVar[str] = "exact_rollback"
    assumptions: ClassVar[Assumptions] = Assumptions(
        True,
        True,
        True,
        False,
        False,
        "who took part when, and a model for each first time",
        "checkpoints, as in Plato",
    )

    @property
    def keeps(self) -> frozenset[Kept]:
        return frozenset({Kept.MODELS, Kept.COHORTS})

    def with_certificate(self, certificate: Certificate) -> ExactRollback:
        return self

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        node = history.last_at_most(history.visits(request.forget), 0.0)
        segment = server.recover(history.at(node.round, node.branch), keys)
        return Unlearned(segment, node, exact_claim(request))

    def server_floats(self, footprint: Footprint) -> Tensor:
        checkpoints = footprint.rounds.clamp(max=footprint.num_clients)
        return footprint.rounds * footprint.cohort + checkpoints * footprint.num_weights
