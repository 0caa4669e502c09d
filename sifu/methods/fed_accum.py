"""FedAccum (the baseline of Liu et al. 2021): add up the remaining clients' old updates, without asking any client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.config.fields import at_least, setting
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Footprint, Method

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server


class FedAccum(Method):
    """theta^0 plus, for every kept round, the weighted mean of the remaining clients' old updates.

    Rounds of recovery count as well. The updates were made from models that knew the forgotten clients, so the result
    drifts away from what retraining would give, the further the longer the training was. Running sums, one a client,
    would do for fixed weights, so that keeping one round in two saves nothing: all are kept by default.
    """

    name = "fed_accum"
    specified_from = "the FedEraser paper"
    assumptions = Assumptions(stores="every client's updates", reference="Liu et al., IWQoS 2021")
    keeps = frozenset({Kept.START, Kept.UPDATES, Kept.COHORTS})

    every: int = setting("a round in how many is kept (dt)", at_least(1), default=1)
    as_released: bool = setting(
        "what the SIFU paper's code does instead: at the first request the mean of the remaining clients' models of "
        "the last round that had any, at later ones nothing",
        default=False,
    )

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        return server.recover(self._start(history, request), keys)

    def _start(self, history: History, request: Request) -> Tensor:
        """The model that recovery begins with. [S, P]"""
        if not self.as_released:
            return history.accumulated(request.remain, self.every)
        return history.last_round(request.remain) if request.number == 1 else history.current

    def server_floats(self, footprint: Footprint) -> Tensor:
        """theta^0 and the updates of the kept rounds. [S]"""
        rounds = (footprint.rounds + self.every - 1) // self.every
        return footprint.num_weights + rounds * footprint.cohort * footprint.num_weights
