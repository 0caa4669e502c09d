"""BFU (Wang et al. 2023): the client to forget makes its data unlikely, and its hidden layer stays close to the old."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.config.fields import above, at_least, from_to, one_of, setting
from sifu.config.optimiser import Adaptive
from sifu.errors import MethodRefused
from sifu.unlearning.method import Assumptions, Method

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.federation.local.guided import Step
    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server


class Bfu(Method):
    """min KL(q_w(z | x) || q_N(z | x)) - lambda CE(w) at the clients W to forget, from theta^N; then one average.

    q(z | x) = N(mu, diag(e^lv)) is the stochastic layer of the model; the divergence is a mean over its units and
    keeps the model from being destroyed, as CE has no upper bound. W takes steps of Adam until its accuracy is below a
    limit. In the average all other clients stand with theta^N, as in the authors' code: theta' = theta^N +
    p_W (theta_W - theta^N), p_W the share of W's examples, so that little is forgotten where p_W is small. `forgotten`
    takes theta_W itself. Recovery follows, as with every method.

    The smallest form: one stochastic layer, linear in the pixels (`model: variational`); other models are refused. The
    authors look at the accuracy once an epoch and stop when it was below the limit twice (`unl_conver_r`); here it is
    looked at after every step, and the first time below the limit is the end. BFU-SS also trains on what else a client
    holds; when whole clients are forgotten there is nothing else, and it is BFU.

    Sequential: q_N is that of the last recovery's model.
    """

    name = "bfu"
    specified_from = "authors' code: wwq5-code/BFU-Code 4f745d3"
    assumptions = Assumptions(fedavg=False, forgotten_data=True, reference="Wang et al., AsiaCCS 2023 (BFU-SS)")

    factor: float = setting("how much the loss counts against the divergence (lambda)", at_least(0), default=0.1)
    lr: float = setting("step size of Adam", above(0), default=1e-3)
    clip: float | None = setting("longest gradient; null: any", above(0), default=5.0)
    epochs: float = setting("passes of a client over its data at most", above(0), default=50.0)
    stop_accuracy: float = setting("a client stops below this accuracy on its own data", from_to(0, 1), default=0.1)
    average: str = setting("whose models are averaged", one_of(("everyone", "forgotten")), default="everyone")

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        from sifu.federation.local.variational_loss import Retraction

        if server.scenario.model != "variational":
            raise MethodRefused("it needs a stochastic layer: set model: variational")
        model = history.current
        asked = server.ask_forgotten(
            model,
            keys,
            loss=Retraction(model, self.factor),
            optimiser=Adaptive(lr=self.lr, clip=self.clip),
            epochs=self.epochs,
            after=self._ends,
        )
        share = history.share_of(request.forget).to(model)[:, None]  # [S, 1]
        return server.recover(model + (share if self.average == "everyone" else 1) * (asked.mean - model), keys)

    def _ends(self, step: Step) -> tuple[Tensor, Tensor]:
        """The weights as they are, and which clients stop."""
        return step.weights, step.accuracy() < self.stop_accuracy
