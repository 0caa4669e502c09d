"""Last: the paper's adaptation of Neel et al. 2021: as much noise on the current model as its sensitivity asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.certificate.rules import delta_of, rules_of
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, CertifiedMethod, Promise, Unlearned, covered

if TYPE_CHECKING:
    from sifu.unlearning.interface import History, Keys, Request, Server


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
        from sifu.certificate.noise import needed_sigma

        certificate, num_clients, current = self.certificate, history.num_clients, history.current
        psi = history.sensitivity(request.forget, rules_of(certificate), server.round_factor(certificate))
        psi_now = history.value_at(psi, history.end)  # [S]
        sigma = needed_sigma(certificate, num_clients, psi_now)
        noise = keys.fold("noise").normal(current.shape[1])
        noisy = current + (sigma.to(noise.device)[:, None] * noise).to(current.dtype)
        promise = Promise(
            certificate.epsilon,
            delta_of(certificate, num_clients),
            sigma=sigma,
            psi=psi_now,
            psi_star=psi_now,
            covers=covered(certificate, request),
        )
        return Unlearned(server.recover(noisy, keys), history.end, promise)
