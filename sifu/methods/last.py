"""Last: the paper's adaptation of Neel et al. 2021: as much noise on the model in use as its sensitivity asks for."""

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
class Last:
    """SIFU without the roll-back: sigma follows from Psi(N, W_u) instead of the other way round."""

    name: ClassVar[str] = "last"
    assumptions: ClassVar[Assumptions] = Assumptions(
        True, True, True, False, False, "a scalar a client and round", "paper, section 4.1, after Neel et al. 2021"
    )
    certificate: Certificate | None = setting("the certificate; null: the scenario's", default=None)

    @property
    def keeps(self) -> frozenset[Kept]:
        exact = self.certificate is not None and rules_of(self.certificate).sets == "exact"
        return frozenset({Kept.SCALARS} | ({Kept.UPDATES, Kept.MODELS} if exact else set()))

    def with_certificate(self, certificate: Certificate) -> Last:
        return self if self.certificate is not None else replace(self, certificate=certificate)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        from sifu.certificate.noise import needed_sigma

        certificate = self.certificate
        assert certificate is not None
        num_clients, current = history.num_clients, history.current
        psi = history.sensitivity(request.forget, rules_of(certificate), server.round_factor(certificate))
        worth = history.value_at(psi, history.end)  # [S]
        sigma = needed_sigma(certificate, num_clients, worth)
        noise = keys.fold("noise").normal(current.shape[1])
        blurred = current + (sigma.to(noise.device)[:, None] * noise).to(current.dtype)
        claim = Claim(
            certificate.epsilon,
            delta_of(certificate, num_clients),
            sigma=sigma,
            psi=worth,
            psi_star=worth,
            covers=covered(certificate, request),
        )
        return Unlearned(server.recover(blurred, keys), history.end, claim)

    def server_floats(self, footprint: Footprint) -> Tensor:
        updates = footprint.updates if Kept.UPDATES in self.keeps else 0
        return footprint.rounds * footprint.num_clients + updates
