"""SIFU (Fraboni et al. 2024, algorithm 3): roll back as far as the noise demands, add noise, recover."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.certificate.rules import rules_of
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, CertifiedMethod, Unlearned

if TYPE_CHECKING:
    from sifu.unlearning.method_types import History, Keys, Request, Server


class Sifu(CertifiedMethod):
    """Roll back to n_u = max{n : Psi(n, W_u) <= Psi*}, add noise, recover. With one request this is IFU."""

    name = "sifu"
    assumptions = Assumptions(
        convex=True,
        non_convex=True,
        stores="a scalar a client and round, a model a client",
        reference="Fraboni et al., AISTATS 2024",
    )

    @property
    def keeps(self) -> frozenset[Kept]:
        exact = rules_of(self.certificate).sets == "exact"
        return frozenset({Kept.MODELS, Kept.SCALARS} | ({Kept.UPDATES} if exact else set()))

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        from sifu.certificate.noise import add_noise, psi_star

        certificate = self.certificate
        limit = psi_star(certificate, history.num_clients)
        psi = history.sensitivity(request.forget, rules_of(certificate), server.round_factor(certificate))
        node = history.last_at_most(psi, limit)  # zeta_u, T_u
        segment = server.recover(add_noise(history.at(node), certificate.sigma, keys), keys)
        psi_at_cut = history.value_at(psi, node)  # [S]
        return Unlearned(segment, node, self.promise(history, request, certificate.sigma, psi_at_cut, limit))
