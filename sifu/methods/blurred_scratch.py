"""Scratch from a blurred initial model: what SIFU's noise does by itself, without anything kept of the training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, CertifiedMethod, Unlearned, exact_promise

if TYPE_CHECKING:
    from sifu.unlearning.method_types import History, Keys, Request, Server


class BlurredScratch(CertifiedMethod):
    """theta_0^0 plus noise of the certificate's sigma, then recovery. Nothing of the forgotten clients is used.

    The noise is the one that SIFU draws: where SIFU goes back to round 0, both give the same model. What SIFU saves
    beyond this method comes from the rounds that it keeps.
    """

    name = "blurred_scratch"
    specified_from = "ours"
    exact = True
    assumptions = Assumptions(
        convex=True, non_convex=True, stores="the initial model", reference="a control: SIFU's noise alone"
    )
    keeps = frozenset({Kept.START})
    on_the_past = False

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        from sifu.certificate.noise import add_noise

        sigma = self.certificate.sigma
        segment = server.recover(add_noise(history.start, sigma, keys), keys)
        return Unlearned(segment, history.nowhere, exact_promise(request, sigma))
