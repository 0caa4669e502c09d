"""Descent-to-Delete (Neel et al. 2021), with clients instead of examples: descend a little, publish with noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.certificate.rules import delta_of
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, CertifiedMethod, Promise, Unlearned

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.certificate.convex import Constants
    from sifu.unlearning.method_types import History, Keys, Request, Server


class DescentToDelete(CertifiedMethod):
    """Gradient descent of the remaining clients from the secret model; the model that is given out has noise on it.

    The distance of the secret model to the minimiser obeys e_u = gamma^{I_u} (e_{u-1} + move of the minimiser), that
    of retraining e_0 = gamma^{I_0} (||theta^0|| + ||minimiser||); the noise hides their sum, and what float32 may add
    to either. The paper's closed form is the limit of many requests after a long training. All clients of a request
    are covered together. For a strongly convex loss alone; others are refused.
    """

    name = "descent_to_delete"
    specified_from = "the paper, with a public port"
    assumptions = Assumptions(
        fedavg=False, convex=True, stores="the model without noise", reference="Neel et al., ALT 2021"
    )
    keeps = frozenset({Kept.START})  # its length enters the bound

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        from sifu.certificate.convex import constants_of
        from sifu.certificate.noise import add_noise, descent_sigma

        certificate, constants = self.certificate, constants_of(server.scenario)
        segment = server.recover(history.current, keys)
        shares = [*history.left_shares, history.share_of(request.forget)]
        distance = _distance(history, constants, shares, segment.rounds)  # [S]
        sigma = descent_sigma(certificate, history.num_clients, distance)
        secret = segment.final.to(history.current.device)
        published = add_noise(secret, sigma, keys)
        promise = Promise(
            certificate.epsilon,
            delta_of(certificate, history.num_clients),
            sigma=sigma,
            psi=distance,
            psi_star=distance,
            noise="end",
            round_factor=constants.step,  # contraction is what this promise is about: the sharpest constant known
        )
        return Unlearned(segment, history.end, promise, published)


def _distance(history: History, constants: Constants, shares: list[Tensor], last_rounds: Tensor) -> Tensor:
    """How far the secret model can be from that of an equally long training without the forgotten clients. [S] float64

    `shares`: for each request the share of the examples that left; `last_rounds` [S]: the rounds of the newest branch.
    """
    training, *recoveries = history.rounds
    start = history.start.double().norm(dim=1).cpu() + constants.optimum
    retrained = start * constants.step ** training.double()
    error = retrained
    for share, rounds in zip(shares, [*recoveries, last_rounds], strict=True):
        error = (error + constants.moves(share)) * constants.step ** rounds.double()
    return error + retrained + 2 * constants.rounding
