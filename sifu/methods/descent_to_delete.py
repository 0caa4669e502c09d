"""Descent-to-Delete (Neel et al. 2021), with clients instead of examples: descend a little, publish with noise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from sifu.certificate.rules import delta_of
from sifu.config.certificate import Certificate
from sifu.config.fields import setting, settings
from sifu.unlearning.method import Assumptions, Claim, Footprint, Unlearned

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.certificate.convex import Constants
    from sifu.core.keys import Keys
    from sifu.unlearning.history import History
    from sifu.unlearning.kept import Kept
    from sifu.unlearning.request import Request
    from sifu.unlearning.server import Server


@settings
class DescentToDelete:
    """Gradient descent of those who remain from the secret model; what is given out has noise on it.

    The distance of the secret model to the minimiser obeys e_u = gamma^{I_u} (e_{u-1} + move of the minimiser), that
    of retraining e_0 = gamma^{I_0} (||theta^0|| + ||minimiser||); the noise hides their sum, and what float32 may add
    to either. The paper's closed form is the limit of many requests after a long training. All who leave with a request
    are covered together. For a strongly convex loss alone; others are refused.
    """

    name: ClassVar[str] = "descent_to_delete"
    assumptions: ClassVar[Assumptions] = Assumptions(
        False, True, False, False, False, "the model without noise", "Neel et al., ALT 2021"
    )
    certificate: Certificate | None = setting("the certificate; null: the scenario's", default=None)

    @property
    def keeps(self) -> frozenset[Kept]:
        return frozenset()

    def with_certificate(self, certificate: Certificate) -> DescentToDelete:
        return self if self.certificate is not None else replace(self, certificate=certificate)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        from sifu.certificate.convex import constants_of
        from sifu.certificate.noise import descent_sigma

        certificate = self.certificate
        assert certificate is not None
        constants = constants_of(server.scenario)
        segment = server.recover(history.current, keys)
        lineage = history.grow(history.end, segment)
        distance = _distance(lineage, constants)  # [S]
        sigma = descent_sigma(certificate, history.num_clients, distance)
        secret = segment.final.to(history.current.device)
        noise = keys.fold("noise").normal(secret.shape[1])
        published = secret + (sigma.to(noise.device)[:, None] * noise).to(secret.dtype)
        claim = Claim(
            certificate.epsilon,
            delta_of(certificate, history.num_clients),
            sigma=sigma,
            psi=distance,
            psi_star=distance,
            noise="end",
        )
        return Unlearned(segment, history.end, claim, published)

    def server_floats(self, footprint: Footprint) -> Tensor:
        return footprint.rounds * 0 + footprint.num_weights


def _distance(lineage: History, constants: Constants) -> Tensor:
    """How far the secret model can be from what as long a training without the leavers would have given. [S] float64"""
    start = lineage.start.double().norm(dim=1).cpu() + constants.optimum
    retrained = start * constants.step ** lineage.segments[0].rounds.double()
    error = retrained
    size = lineage.engine.clients.size.cpu().double()
    for before, after in zip(lineage.segments, lineage.segments[1:], strict=False):
        held = size.where(before.available, 0.0)
        weight = held.where(~after.available, 0.0).sum(1) / held.sum(1)
        error = (error + constants.moves(weight)) * constants.step ** after.rounds.double()
    return error + retrained + 2 * constants.rounding
