"""Forget-SVGD (Gong et al. 2022): particles of a posterior move to where the clients to forget are unlikely."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sifu.config.fields import above, at_least, setting
from sifu.config.optimiser import Svgd
from sifu.errors import MethodRefused
from sifu.unlearning.method import Assumptions, Method

if TYPE_CHECKING:
    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server


class ForgetSvgd(Method):
    """L steps of SVGD from the particles theta^N towards q(theta) exp(+p_W F_W(theta) / alpha); then recovery.

    The federation's particles stand for q = exp(-F / alpha), F the clients' mean loss, alpha the temperature. Dividing
    by the part of the clients W to forget, p_W of the examples, leaves the posterior of the others. q is known by its
    particles alone, so that it is estimated by a kernel at each of them. In the thousands of dimensions of a logistic
    regression that says little: each particle climbs the loss of W, held by a spring to where it was. F_W has no
    upper bound, so that L limits the climb.

    The smallest form: particles of logistic regression (`model: particles`); other models are refused. The paper's
    federation has one client a round, with particles of its own for what it has contributed (t_k). Here a round is one
    of FedAvg over whole sets of particles: for K = 1 its mean is SVGD's step for the mean loss. Each client to forget
    is visited once, where t_k is still flat, and the mean of their particles is taken. L and step size are not
    published.

    Sequential: the particles of the last recovery are q.
    """

    name = "forget_svgd"
    specified_from = "the paper's equations; no code was found, the numbers are ours"
    assumptions = Assumptions(fedavg=False, forgotten_data=True, reference="Gong et al., IEEE DSLW 2022 (Forget-SVGD)")

    steps: int = setting("steps of a client to forget (L)", at_least(1), default=10)
    lr: float | None = setting("step size of these; null: the federation's", above(0), default=None)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        from sifu.federation.local.loss import Negative

        own = server.training_optimiser
        if not isinstance(own, Svgd):
            raise MethodRefused("it needs a model of particles: set model: particles")
        asked = server.ask_forgotten(
            history.current,
            keys,
            loss=Negative(server.training_loss),
            optimiser=replace(own, anchored=True, weight_decay=0.0, lr=own.lr if self.lr is None else self.lr),
            steps=self.steps,
            scale=history.share_of(request.forget),
        )
        return server.recover(asked.mean, keys)
