"""FedOSD (Pan et al. 2025): forget along directions that the remaining clients do not feel, then do not turn back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.config.fields import above, at_least, between, setting
from sifu.config.optimiser import Sgd
from sifu.unlearning.method import Assumptions, Method

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server


class FedOsd(Method):
    """theta <- theta - d, d = V_u - A'(A A')^+ A V_u as long as V_u; then rounds without the way back to theta^N.

    V_i = theta - theta_i is what client i's local training takes away, V_u the mean of the clients to forget, which
    descend -log(1 - p_y / 2), and the rows of A those of all remaining clients, which descend their usual loss. Where
    V_u is in the span of A there is no step. In guarded rounds the remaining clients' V_i lose their component along
    theta - theta^N, keep their length, and their plain mean is taken away. Recovery follows, as with every method.

    Every client trains in every such round, which the server counts. Where a usual round has m of M clients, one such
    round costs M / m of the same length: so many rounds can be dearer than retraining. The authors' code has 100 rounds
    of each kind; its second step size moves the model hardly at all. Their batches of 200 examples are the scenario's
    here. A seed whose budget does not reach takes no further step.

    Sequential: theta^N is the last recovery's model; clients of earlier requests take no part.
    """

    name = "fed_osd"
    specified_from = "authors' code: zibinpan/FedOSD 41cc106"
    assumptions = Assumptions(forgotten_data=True, reference="Pan et al., AAAI 2025")

    rounds: int = setting("rounds of forgetting (UR; the authors: 100)", at_least(0), default=10)
    lr: float = setting("step size of all clients in them", above(0), default=4e-4)
    guarded_rounds: int = setting("rounds that do not turn back (the authors: 100)", at_least(0), default=10)
    guarded_lr: float = setting("step size of the remaining clients in them", above(0), default=1e-6)
    decay: float = setting("factor of both step sizes after every round", between(0, 1), default=0.999)
    epochs: float = setting("passes of a client over its data in a round", above(0), default=1.0)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        before = history.current
        model = self._guard(self._forget(before, request, server, keys), before, request, server, keys)
        return server.recover(model, keys)

    def _forget(self, model: Tensor, request: Request, server: Server, keys: Keys) -> Tensor:
        """The model after the rounds of forgetting. [S, P]"""
        from sifu.federation.local.loss import Unlikely
        from sifu.unlearning.orthogonal import mean_of, orthogonal

        going = request.size > 0  # [S]: until the budget is spent
        for number in range(self.rounds):
            optimiser = Sgd(lr=self.lr * self.decay**number)
            how = {"optimiser": optimiser, "epochs": self.epochs}
            asked = server.ask_forgotten(model, keys, loss=Unlikely(), seeds=going, **how)
            going = (asked.cohort >= 0).any(1)
            stayed = server.ask_remaining(model, keys, same_round=True, everyone=True, seeds=going, **how)
            going = (stayed.cohort >= 0).any(1)
            away = mean_of(model[:, None] - asked.local, asked.cohort)
            step = orthogonal(away, model[:, None] - stayed.local)
            model = (model - step).where(going.to(model.device)[:, None], model)
        return model

    def _guard(self, model: Tensor, before: Tensor, request: Request, server: Server, keys: Keys) -> Tensor:
        """The model after the guarded rounds. [S, P]"""
        from sifu.unlearning.orthogonal import mean_of, orthogonal

        going = request.size > 0  # [S]
        for number in range(self.guarded_rounds):
            optimiser = Sgd(lr=self.guarded_lr * self.decay**number)
            asked = server.ask_remaining(
                model, keys, everyone=True, seeds=going, optimiser=optimiser, epochs=self.epochs
            )
            going = (asked.cohort >= 0).any(1)
            back = (model - before)[:, None, None].expand(-1, asked.cohort.shape[1], -1, -1)  # [S, m, 1, P]
            away = orthogonal((model[:, None] - asked.local).flatten(0, 1), back.flatten(0, 1))
            model = model - mean_of(away.unflatten(0, asked.cohort.shape), asked.cohort)
        return model
