"""MoDe (Zhao et al. 2023): drift towards a new model of the remaining clients, guided by what that model says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sifu.config.fields import above, at_least, from_to, setting
from sifu.config.optimiser import Sgd
from sifu.unlearning.method import Assumptions, Method

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server


class Mode(Method):
    """Degradation, theta <- lambda theta + (1 - lambda) D; guidance, theta <- theta + sum_i p_i U_i; then recovery.

    D starts from new initial weights; in each of r_de rounds a cohort of remaining clients trains it, then theta is
    mixed with it. In each of r_max rounds, the first r_de included, a cohort of remaining clients trains theta on its
    labels and the clients to forget on D's answers, the most likely class of each image; all count by their examples.
    Without guidance theta = lambda^r theta^N + (1 - lambda) sum_i lambda^(r - i) D_i after r rounds: with the values
    here, of a public port, 0.735 of theta^N is left, and the rest of the forgetting is up to guidance and recovery.

    That port trains the clients to forget with D's step size, 0.1, and the others with 0.0005; whether it is meant so
    is not clear, so that each is a setting, and by default both have the small one. D has the federation's own. A round
    of degradation and one of guidance follow each other: the server counts two. A seed whose budget does not reach
    takes no further step.

    Sequential: theta^N is the last recovery's model; D is new for every request.
    """

    name = "mode"
    specified_from = "a port in alessiomora/FedQUIT e447fa0"
    assumptions = Assumptions(forgotten_data=True, reference="Zhao et al., 2023 (MoDe)")

    keep: float = setting("how much of the model a round of degradation keeps (lambda)", from_to(0, 1), default=0.95)
    degrade_rounds: int = setting("rounds of degradation (r_de)", at_least(0), default=6)
    degrade_lr: float | None = setting("step size of D; null: the federation's", above(0), default=None)
    guided_rounds: int = setting("rounds of guidance (r_max); 0: none", at_least(0), default=10)
    guided_lr: float = setting("step size of the remaining clients in them", above(0), default=5e-4)
    forgotten_lr: float = setting("step size of the clients to forget in them", above(0), default=5e-4)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        model, new = history.current, server.new_start(keys)
        going = request.size > 0  # [S]: until the budget is spent
        share = history.share_of(request.forget).to(model)[:, None]  # [S, 1]
        for number in range(max(self.degrade_rounds, self.guided_rounds)):
            if number < self.degrade_rounds:
                how: dict[str, Any] = {} if self.degrade_lr is None else {"optimiser": Sgd(lr=self.degrade_lr)}
                asked = server.ask_remaining(new, keys, seeds=going, **how)
                going, new = (asked.cohort >= 0).any(1), asked.mean
                model = self._where(going, self.keep * model + (1 - self.keep) * new, model)
            if number < self.guided_rounds:
                model, going = self._guided(model, new, going, share, server, keys)
        return server.recover(model, keys)

    def _guided(
        self, model: Tensor, new: Tensor, going: Tensor, share: Tensor, server: Server, keys: Keys
    ) -> tuple[Tensor, Tensor]:
        """A round of guidance by `new` [S, P] for the seeds `going` [S], and which of them go on.

        `share` [S, 1]: the weight of the clients to forget, among all; a cohort stands for all that remain.
        """
        from sifu.federation.local.loss import PseudoLabels

        asked = server.ask_forgotten(
            model, keys, seeds=going, loss=PseudoLabels(new), optimiser=Sgd(lr=self.forgotten_lr)
        )
        going = (asked.cohort >= 0).any(1)
        stayed = server.ask_remaining(model, keys, same_round=True, seeds=going, optimiser=Sgd(lr=self.guided_lr))
        going = (stayed.cohort >= 0).any(1)
        return self._where(going, share * asked.mean + (1 - share) * stayed.mean, model), going

    @staticmethod
    def _where(which: Tensor, one: Tensor, other: Tensor) -> Tensor:
        """`one` [S, P] for the seeds `which` [S], `other` for the rest."""
        return one.where(which.to(one.device)[:, None], other)
