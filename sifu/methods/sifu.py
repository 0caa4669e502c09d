"""SIFU (Fraboni et al. 2024, algorithm 3): back to the last model that the leavers barely shaped, blur it, train on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from sifu.certificate.rules import delta_of, rules_of
from sifu.config.certificate import Certificate
from sifu.config.fields import setting, settings
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Claim, Footprint, Unlearned, covered

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.core.keys import Keys
    from sifu.unlearning.history import History
    from sifu.unlearning.request import Request
    from sifu.unlearning.server import Server


@settings
class Sifu:
    """Roll back to n_u = max{n : Psi(n, W_u) <= Psi*}, add noise, recover. With one request this is IFU."""

    name: ClassVar[str] = "sifu"
    assumptions: ClassVar[Assumptions] = Assumptions(
        True, True, True, False, False, "a scalar a client and round, a model a client", "Fraboni et al., AISTATS 2024"
    )
    certificate: Certificate | None = setting("the certificate; null: the scenario's", default=None)

    @property
    def keeps(self) -> frozenset[Kept]:
        exact = self.certificate is not None and rules_of(self.certificate).sets == "exact"
        return frozenset({Kept.MODELS, Kept.SCALARS} | ({Kept.UPDATES} if exact else set()))

    def with_certificate(self, certificate: Certificate) -> Sifu:
        return self if self.certificate is not None else replace(self, certificate=certificate)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        from sifu.certificate.noise import psi_star

        certificate = self.certificate
        assert certificate is not None
        num_clients = history.num_clients
        limit = psi_star(certificate, num_clients)
        psi = history.sensitivity(request.forget, rules_of(certificate), server.round_factor(certificate))
        node = history.last_at_most(psi, limit)  # zeta_u, T_u
        kept = history.at(node.round, node.branch)  # [S, P]
        noise = keys.fold("noise").normal(kept.shape[1]).to(kept.dtype)
        segment = server.recover(kept + certificate.sigma * noise, keys)
        worth = history.value_at(psi, node)
        claim = Claim(
            certificate.epsilon,
            delta_of(certificate, num_clients),
            sigma=worth * 0 + certificate.sigma,
            psi=worth,
            psi_star=worth * 0 + limit,
            covers=covered(certificate, request),
        )
        return Unlearned(segment, node, claim)

    def server_floats(self, footprint: Footprint) -> Tensor:
        checkpoints = footprint.rounds.clamp(max=footprint.num_clients)
        updates = footprint.updates if Kept.UPDATES in self.keeps else 0
        return footprint.rounds * footprint.num_clients + checkpoints * footprint.num_weights + updates
