"""FedQUIT (Mora et al. 2024): the clients to forget learn from a teacher that does not know their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.config.fields import above, at_least, one_of, setting
from sifu.config.optimiser import Adaptive
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Method

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server


class FedQuit(Method):
    """min KL(softmax(z_virt) || softmax(z_w)) at the clients to forget, from theta^N; their mean is recovered from.

    z_virt are theta^N's logits with that of the true class y replaced by the smallest of all, or by zero. At the start
    the slope of an example's logits is p - p_virt: positive for y, zero in sum. With two classes the smallest is the
    other class's logit, so that the teacher is undecided and forgetting ends at chance, not at zero.

    Of several clients each forgets its own examples; the mean of their models forgets less.

    The authors' code (compared at alessiomora/FedQUIT e447fa0) stops recovery when the test accuracy meets that of a
    retrained model, which nobody has: their counts of rounds are not those of a deployment. Here the scenario's stop
    rule ends it, as for every method; `as_released` is their oracle, asked before each round, whose retraining costs
    nothing. Theirs retrains for a fixed number of rounds, ours until the scenario's target. The defaults are those of
    their CIFAR-10 script. Sequential: the teacher is the last recovery's model.
    """

    name = "fed_quit"
    specified_from = "authors' code: alessiomora/FedQUIT e447fa0"
    assumptions = Assumptions(forgotten_data=True, reference="Mora et al., 2024")

    target: str = setting("what replaces the true class's logit", one_of(("smallest", "zero")), default="smallest")
    lr: float = setting("step size of Adam", above(0), default=1e-4)
    epochs: float = setting("passes of a client over its data", above(0), default=1.0)
    batch_size: int = setting("examples a step", at_least(1), default=32)
    as_released: bool = setting("recover until the test accuracy is that of a retrained model", default=False)

    @property
    def keeps(self) -> frozenset[Kept]:
        return frozenset({Kept.START} if self.as_released else set())  # what the oracle retrains from

    @property
    def oracle(self) -> bool:
        return self.as_released

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        from sifu.federation.local.loss import Distillation

        model = history.current
        asked = server.ask_forgotten(
            model,
            keys,
            loss=Distillation(model, targets=self.virtual, name="virtual teacher"),
            optimiser=Adaptive(lr=self.lr),
            epochs=self.epochs,
            batch_size=self.batch_size,
        )
        if self.as_released:
            return server.recover_by_oracle(asked.mean, keys, history.start)
        return server.recover(asked.mean, keys)

    def virtual(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The teacher's logits [B, classes] without the true class of each example."""
        smallest = logits.amin(1, keepdim=True)
        return logits.scatter(1, labels[:, None], smallest if self.target == "smallest" else smallest * 0)
