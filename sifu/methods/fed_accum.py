"""FedAccum (the baseline of Liu et al. 2021): add up again what those who remain once sent, without asking anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sifu.config.fields import at_least, setting, settings
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Footprint, Unlearned

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.config.certificate import Certificate
    from sifu.core.keys import Keys
    from sifu.unlearning.history import History
    from sifu.unlearning.request import Request
    from sifu.unlearning.server import Server


@settings
class FedAccum:
    """theta^0 plus, for every kept round, the weighted mean of the remaining clients' old updates.

    Rounds of recovery count as well. The updates were made from models that knew the leavers, so the result drifts away
    from what retraining would give, the further the longer the training was. Running sums, one a client, would do for
    fixed weights, so that keeping a round in two saves nothing: all are kept by default.
    """

    name: ClassVar[str] = "fed_accum"
    assumptions: ClassVar[Assumptions] = Assumptions(
        True, False, False, False, False, "every client's updates", "Liu et al., IWQoS 2021"
    )
    every: int = setting("a round in how many is kept (dt)", at_least(1), default=1)
    as_released: bool = setting(
        "what the SIFU paper's code does instead: at the first request the mean of the remaining clients' models of "
        "the last round, at later ones nothing",
        default=False,
    )

    @property
    def keeps(self) -> frozenset[Kept]:
        return frozenset({Kept.UPDATES, Kept.COHORTS})

    def with_certificate(self, certificate: Certificate) -> FedAccum:
        return self

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        return Unlearned(server.recover(self._start(history, request), keys), history.end)

    def _start(self, history: History, request: Request) -> Tensor:
        """What recovery begins with. [S, P]"""
        if not self.as_released:
            return history.accumulated(request.remain, self.every)
        return history.last_round(request.remain) if request.number == 1 else history.current

    def server_floats(self, footprint: Footprint) -> Tensor:
        rounds = (footprint.rounds + self.every - 1) // self.every
        return footprint.num_weights + rounds * footprint.cohort * footprint.num_weights
