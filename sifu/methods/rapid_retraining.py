"""Rapid retraining (Liu et al. 2022): retrain from scratch, with a local optimiser that knows some curvature."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sifu.config.fields import above, one_of, setting
from sifu.config.optimiser import CURVATURES, Adaptive, own_sgd
from sifu.errors import MethodRefused
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Method, Unlearned, exact_promise

if TYPE_CHECKING:
    from sifu.config.optimiser import Optimiser
    from sifu.unlearning.method_types import History, Keys, Request, Server


class RapidRetraining(Method):
    """From theta^0 without the forgotten clients, local steps w <- w - eta mhat / (sqrt(vhat) + e): exact unlearning.

    v averages the squares of a diagonal: of the empirical Fisher matrix (`fisher`, the paper), of the Hessian by random
    signs (`hutchinson`, the authors' code, which is AdaHessian). Adam (`gradient`) and SGD with another step size
    (`none`) are the controls: what the method saves beyond them comes from curvature. The Fisher matrix shrinks with
    the square of the gradients, so that steps grow as the loss vanishes: e must not be small. The paper's averaging
    over blocks of three weights and its rounds of plain SGD are left out. The paper is about single examples; here
    whole clients leave, so nothing is asked of them. Sequential: every request starts again from theta^0.
    """

    name = "rapid_retraining"
    specified_from = "the paper and its code: yiliucs/federated-unlearning 7bbe5d0; damping is ours"
    exact = True
    assumptions = Assumptions(
        fedavg=False, convex=True, non_convex=True, stores="the initial model", reference="Liu et al., INFOCOM 2022"
    )
    keeps = frozenset({Kept.START})

    curvature: str = setting("what divides a step", one_of((*CURVATURES, "none")), default="fisher")
    lr: float = setting("step size of the clients (eta)", above(0), default=1e-3)
    damping: float = setting("added to the root of v (e)", above(0), default=1e-3)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        segment = server.recover(history.start, keys, optimiser=self._optimiser(server))
        return Unlearned(segment, history.nowhere, exact_promise(request))

    def _optimiser(self, server: Server) -> Optimiser:
        federation = server.scenario.federation
        if self.curvature == "none":
            return replace(own_sgd(federation), lr=self.lr)
        if federation.weight_decay:
            raise MethodRefused("its steps have no weight decay, so that it would minimise another loss")
        return Adaptive(lr=self.lr, curvature=self.curvature, damping=self.damping, clip=federation.clip)
