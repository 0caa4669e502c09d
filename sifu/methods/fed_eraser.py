"""FedEraser (Liu et al. 2021): walk the kept rounds again, direction from a short calibration, length from the past."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sifu.config.fields import at_least, between, one_of, setting
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Footprint, Method, Unlearned

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.unlearning.method_types import History, Keys, Node, PastRound, Request, Server


class FedEraser(Method):
    """From theta^0: the first kept round as it was, then U~_k = ||U_k|| Uhat_k / ||Uhat_k|| in each further one.

    Uhat_k is the update of client k after r K steps from the calibrated model. Of kept rounds after the first only
    lengths are needed, so `norm` and `full` storage give the same model. A later request replays what earlier ones
    replayed, then their recovery, as the calibrated updates have the lengths of those that they replace.
    """

    name = "fed_eraser"
    specified_from = "the paper"
    assumptions = Assumptions(
        stores="lengths of updates, a round in dt; or the updates", reference="Liu et al., IWQoS 2021"
    )
    keeps = frozenset({Kept.START, Kept.NORMS, Kept.COHORTS, Kept.FIRST_ROUND})

    every: int = setting("a round in how many is kept (dt)", at_least(1), default=2)
    calibration: float = setting("share of the local steps that calibrate (r), rounded up", between(0, 1), default=0.5)
    length: str = setting(
        "of a calibrated update: the client's in that round, each layer's own, or its own as it is (`none`)",
        one_of(("client", "layer", "none")),
        default="client",
    )
    store: str = setting(
        "what the server is said to keep: lengths, or whole updates", one_of(("norm", "full")), default="norm"
    )

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        model, node = self._calibrate(history, request, server)
        return Unlearned(server.recover(model, keys), node)

    def _calibrate(self, history: History, request: Request, server: Server) -> tuple[Tensor, Node]:
        """The calibrated model [S, P], and the last round that it was calibrated with."""
        model, steps = history.first_round(request.remain), self._steps(server)
        node = history.early(1)
        going = node.round >= 0  # [S]: until the budget is spent
        for past in history.retained(self.every):
            if (past.branch, past.number) > (0, 0):
                wanted = past.only(request.remain & going[:, None])
                asked, result = server.ask_again(model, wanted, steps)
                going = going & ((asked.visits > 0) | (wanted.visits == 0))
                local = self._rescale(server, model, result.local, asked)
                model = server.average(model, local, asked)
                node = node.moved(past.branch, past.number + 1, going & past.happened)
        return model, node

    def _steps(self, server: Server) -> int:
        return math.ceil(self.calibration * server.scenario.federation.local_steps - 1e-9)

    def _rescale(self, server: Server, model: Tensor, local: Tensor, past: PastRound) -> Tensor:
        """Clients' weights `local` [S, m, P] whose updates from `model` [S, P] have the lengths of the past."""
        from sifu.hardware.upload import upload

        if self.length == "none":
            return local
        update = local - model.unsqueeze(1)
        own = server.layer_norms(update)  # [S, m, layers]
        if self.length == "client":
            factor = (upload(past.norm, own.device) / own.norm(dim=-1)).unsqueeze(-1)
        else:
            factor = server.spread_layers(upload(past.layer_norm, own.device) / own)  # [S, m, P]
        # an update of nothing has no direction: it stays; with a factor of 1 every bit stays
        return local + (factor.nan_to_num(nan=1.0, posinf=1.0) - 1.0) * update

    def server_floats(self, footprint: Footprint) -> Tensor:
        """theta^0 and the first round in full; of the other kept rounds updates or lengths."""
        rounds = (footprint.rounds + self.every - 1) // self.every
        lengths = {"client": 1, "layer": footprint.num_layers, "none": 0}[self.length]
        each = footprint.num_weights if self.store == "full" else lengths
        first = footprint.cohort * footprint.num_weights
        return footprint.num_weights + first + (rounds - 1).clamp(min=0) * footprint.cohort * each
