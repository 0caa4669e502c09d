"""Last: the paper's adaptation of Neel et al. 2021: as much noise on the current model as its sensitivity asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.certificate.rules import rules_of
from sifu.config.fields import one_of, setting
from sifu.unlearning.kept import Kept, kept_for
from sifu.unlearning.method import Assumptions, CertifiedMethod, Unlearned

if TYPE_CHECKING:
    from sifu.unlearning.method_types import History, Keys, Request, Server


class Last(CertifiedMethod):
    """SIFU without the roll-back: sigma follows from Psi(N, W_u) instead of the other way round.

    The paper's code has noise for the largest Psi of any client on the newest branch, whoever is to be forgotten:
    `clients: all` with the certificate's preset `released`.
    """

    name = "last"
    specified_from = "the SIFU paper and its code"
    assumptions = Assumptions(
        convex=True,
        non_convex=True,
        stores="a scalar a client and round",
        reference="paper, section 4.1, after Neel et al. 2021",
    )

    clients: str = setting(
        "whose Psi the noise hides: that of the clients to forget now, or the largest of all clients in any round of "
        "the newest branch",
        one_of(("forgotten", "all")),
        default="forgotten",
    )

    @property
    def keeps(self) -> frozenset[Kept]:
        return kept_for(rules_of(self.certificate))

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        from sifu.certificate.noise import add_noise, needed_sigma

        certificate = self.certificate
        covered = self.covered(history, request)
        hidden = covered if self.clients == "forgotten" else covered | request.remain  # [S, C]
        psi = history.sensitivity(hidden, rules_of(certificate), server.round_factor(certificate))
        psi_now = history.value_at(psi, history.end) if self.clients == "forgotten" else psi[-1].amax(1)  # [S]
        sigma = needed_sigma(certificate, history.num_clients, psi_now)
        segment = server.recover(add_noise(history.current, sigma, keys), keys)
        return Unlearned(segment, history.end, self.promise(history, request, sigma, psi_now, psi_now))
