"""Last: the paper's adaptation of Neel et al. 2021: as much noise on the current model as its sensitivity asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.certificate.rules import rules_of
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, CertifiedMethod, Unlearned

if TYPE_CHECKING:
    from sifu.unlearning.method_types import History, Keys, Request, Server


class Last(CertifiedMethod):
    """SIFU without the roll-back: sigma follows from Psi(N, W_u) instead of the other way round."""

    name = "last"
    assumptions = Assumptions(
        convex=True,
        non_convex=True,
        stores="a scalar a client and round",
        reference="paper, section 4.1, after Neel et al. 2021",
    )

    @property
    def keeps(self) -> frozenset[Kept]:
        exact = rules_of(self.certificate).sets == "exact"
        return frozenset({Kept.SCALARS} | ({Kept.UPDATES} if exact else set()))

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        from sifu.certificate.noise import add_noise, needed_sigma

        certificate = self.certificate
        psi = history.sensitivity(request.forget, rules_of(certificate), server.round_factor(certificate))
        psi_now = history.value_at(psi, history.end)  # [S]
        sigma = needed_sigma(certificate, history.num_clients, psi_now)
        segment = server.recover(add_noise(history.current, sigma, keys), keys)
        return Unlearned(segment, history.end, self.promise(history, request, sigma, psi_now, psi_now))
