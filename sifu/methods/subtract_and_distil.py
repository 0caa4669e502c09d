"""Subtract and distil (Wu et al. 2022): take away old updates, then learn from the old model at the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.config.fields import above, at_least, one_of, setting
from sifu.config.optimiser import Adaptive
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Method

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server


class SubtractAndDistil(Method):
    """theta' = theta^N - sum_n sum over W of p_u^n U_u^n; then min KL(softmax(z / T) || softmax(z' / T)) at the server.

    p_u^n is the weight of client u in round n, z are the logits of theta^N and z' those of the student, which starts
    from theta', on unlabelled examples of the server. `lazy`, which the paper recommends, takes updates away as above;
    `average` adds up the means of the remaining clients' updates instead. Both are far from retraining after many
    rounds, and the teacher knows the forgotten clients: with more epochs the student is theta^N again, so that its
    accuracy on their data rises. T, epochs and data are not published. Recovery follows, as with every method.

    Sequential: p_u^n is the weight in the round as it was, clients of earlier requests included; rounds of recovery are
    subtracted as well; the teacher is the last recovery's model. One running sum a client would do instead of every
    update, as p_u^n is fixed in its round: what the method is said to store is an upper limit.
    """

    name = "subtract_and_distil"
    specified_from = "a transcription of the paper; T, epochs, step size and batches are ours"
    assumptions = Assumptions(server_data=True, stores="every client's updates", reference="Wu et al., 2022")
    keeps = frozenset({Kept.START, Kept.UPDATES, Kept.COHORTS})

    rule: str = setting("how old updates are taken away", one_of(("lazy", "average")), default="lazy")
    temperature: float = setting("of the soft labels (T)", above(0), default=3.0)
    lr: float = setting("step size of Adam", above(0), default=1e-3)
    epochs: float = setting("passes over the server's examples; 0: no distillation", at_least(0), default=10.0)
    batch_size: int = setting("examples a step", at_least(1), default=100)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        from sifu.federation.local.loss import Distillation

        student = self._subtracted(history, request)
        if self.epochs:
            student = server.train_here(
                student,
                keys,
                loss=Distillation(history.current, self.temperature),
                optimiser=Adaptive(lr=self.lr),
                epochs=self.epochs,
                batch_size=self.batch_size,
            )
        return server.recover(student, keys)

    def _subtracted(self, history: History, request: Request) -> Tensor:
        """theta'. [S, P]"""
        if self.rule == "average":
            return history.accumulated(request.remain, 1)
        model = history.current
        for past in history.contributions(request):
            model = model - past.added
        return model
