"""SIFU (Fraboni et al. 2024, algorithm 3): roll back as far as the noise demands, add noise, recover."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sifu.certificate.rules import rules_of
from sifu.config.fields import one_of, setting
from sifu.unlearning.kept import Kept, kept_for
from sifu.unlearning.method import Assumptions, CertifiedMethod, Unlearned

if TYPE_CHECKING:
    from sifu.unlearning.method_types import History, Keys, Request, Server


class Sifu(CertifiedMethod):
    """Roll back to n_u = max{n : Psi(n, W_u) <= Psi*}, add noise, recover. With one request this is IFU.

    A certificate whose `branches` are `reset` is counted and cut as in the paper's released code
    (sifu/unlearning/released_cut.py): the model that is restored may have Psi > Psi*, and the numbers say so.

    With `noise: end` it is the field's R2D, rewind to delete (Mu and Klabjan, NeurIPS 2025), with the measured Psi in
    place of an a-priori bound, and rounds of FedAvg in place of full gradient steps. The next request starts from the
    secret model: its cut and its recovery never see the noise, so that noise does not add up over requests.
    """

    name = "sifu"
    specified_from = "the paper and its code"
    assumptions = Assumptions(
        convex=True,
        non_convex=True,
        stores="a scalar a client and round, a model a client",
        reference="Fraboni et al., AISTATS 2024",
    )

    noise: str = setting(
        "where the noise is added: to the model that recovery starts from, or to the recovered model (R2D, rewind to "
        "delete), which then stays secret: only the model with noise is given out, the next request starts without it",
        one_of(("start", "end")),
        default="start",
    )

    @property
    def keeps(self) -> frozenset[Kept]:
        return kept_for(rules_of(self.certificate)) | {Kept.MODELS}

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        from sifu.certificate.noise import add_noise, needed_sigma, psi_star

        certificate, rules = self.certificate, rules_of(self.certificate)
        limit, factor = psi_star(certificate, history.num_clients), server.round_factor(certificate)
        covered = self.covered(history, request)  # [S, C]
        psi = history.sensitivity(covered, rules, factor)
        if rules.branches == "reset":
            node = history.released_cut(covered, rules, factor, limit).restored
        else:
            node = history.last_at_most(psi, limit)  # zeta_u, T_u
        psi_at_cut, cut = history.value_at(psi, node), history.checkpoint(node)  # [S], [S, P]
        if self.noise == "start":
            segment = server.recover(add_noise(cut, certificate.sigma, keys), keys)
            return Unlearned(segment, node, self.promise(history, request, certificate.sigma, psi_at_cut, limit))
        segment = server.recover(cut, keys)
        scaled = psi_at_cut * factor ** segment.rounds.double()  # recovery adds nothing, and scales distances
        psi_at_end = scaled.where(psi_at_cut > 0, 0.0)  # 0 stays 0, also where the factor is infinite
        sigma = needed_sigma(certificate, history.num_clients, psi_at_end).clamp(min=certificate.sigma)  # more if B > 1
        promise = self.promise(history, request, sigma, psi_at_end, psi_at_end.clamp(min=limit))
        published = add_noise(segment.final.to(cut.device), sigma, keys)
        return Unlearned(segment, node, replace(promise, noise="end"), published)
