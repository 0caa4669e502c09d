"""FedRecovery (Zhang et al. 2023): take back a weighted mean of what the clients to forget added to each round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.config.fields import at_least, setting
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Method

if TYPE_CHECKING:
    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server


class FedRecovery(Method):
    """theta' = theta^N - sum_n p_n delta_n + N(0, sigma^2), then FedAvg of those that remain.

    delta_n is the mean update of round n less the mean of its remaining clients: what the clients to forget added.
    p_n = ||U_n||^2 / sum_j ||U_j||^2 with U_n the mean update of all. As the p_n add up to 1, the correction is never
    longer than that of a single round: it cannot undo N rounds. The paper's certificate rests on an a-priori bound on
    the distance to retraining; none is claimed here, so `sigma` is a plain setting. For a request of one client running
    sums, one a client, would do instead of the updates. After a restatement of the paper's algorithm 2.

    Sequential: rounds of recovery count as rounds; clients of earlier requests are left out of both means.
    """

    name = "fed_recovery"
    assumptions = Assumptions(stores="every client's updates", reference="Zhang et al., TIFS 2023")
    keeps = frozenset({Kept.UPDATES, Kept.COHORTS})

    sigma: float = setting("standard deviation of the noise on each weight", at_least(0), default=0.0)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        from sifu.certificate.noise import add_noise

        model = history.current
        taken, total = model.double() * 0, model.double()[:, :1] * 0  # [S, P], [S, 1]
        for past in history.contributions(request):
            weight = past.together.double().square().sum(1, keepdim=True)  # [S, 1]
            taken, total = taken + weight * past.residual, total + weight
        start = model - (taken / total.clamp(min=1e-300)).to(model.dtype)
        return server.recover(add_noise(start, self.sigma, keys) if self.sigma else start, keys)
