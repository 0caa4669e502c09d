"""Projected gradient ascent (Halimi et al. 2022): the clients to forget raise their own loss within a ball."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.config.fields import above, at_least, from_to, one_of, setting
from sifu.config.optimiser import Sgd
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Method

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from sifu.federation.local.guided import Step
    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server

_INITIAL_MODELS = 10  # that the radius is measured with


class GradientAscent(Method):
    """From ref the clients W to forget ascend, w <- P(w + eta grad F_W(w)); their mean is then recovered from.

    ref = theta^N - delta, delta what W added to the last round that they took part in; where that is the last round of
    all, ref is the mean of the other clients' models: (theta^N - p_W theta_W) / (1 - p_W). P projects on the ball of
    a radius around ref that is a share of its root mean square distance to ten new initial models; 0.577 is that of
    the paper's code, which takes a third of squared distances. A client stops where its accuracy is below a limit, or
    its distance to theta_W, the model that W sent, above one (as in the paper's code). The paper's limit is on
    accuracy on validation data, here it is on the ascending client's accuracy on its own training data.

    Sequential: theta^N is the last recovery's model, and delta is of the last round of any branch.
    """

    name = "gradient_ascent"
    specified_from = "authors' code: IBM/federated-unlearning 6f51bbc; the limit 0.12: FeatureCloud's port"
    assumptions = Assumptions(
        forgotten_data=True, stores="each client's last update", reference="Halimi et al., 2022 (PGA)"
    )
    keeps = frozenset({Kept.LAST_UPDATES})

    lr: float = setting("step size of the ascent (eta)", at_least(0), default=0.01)
    momentum: float = setting("momentum of the ascent", from_to(0, 0.999), default=0.9)
    clip: float | None = setting("longest gradient; null: any", above(0), default=5.0)
    epochs: float = setting("passes over its data that a client ascends at most", above(0), default=5.0)
    radius: float = setting("of the ball, as a share of the distance to initial models", above(0), default=0.577)
    stop: str = setting("when a client stops early", one_of(("accuracy", "distance", "never")), default="accuracy")
    stop_accuracy: float = setting("it stops below this accuracy on its own data", from_to(0, 1), default=0.12)
    stop_distance: float = setting("it stops above this distance to the model it sent", above(0), default=1.48)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        from sifu.federation.local.loss import Negative
        from sifu.unlearning.asked import in_ball

        past, model = history.last_contribution(request), history.current
        reference = model - past.residual
        sent = model - past.together + past.forgotten  # as if that round had been the last
        asked = server.ask_forgotten(
            reference,
            keys,
            loss=Negative(server.training_loss),
            optimiser=Sgd(lr=self.lr, momentum=self.momentum, clip=self.clip),
            epochs=self.epochs,
            after=in_ball(reference, self._radius(reference, server, keys), self._ends(sent)),
        )
        return server.recover(asked.mean, keys)

    def _radius(self, reference: Tensor, server: Server, keys: Keys) -> Tensor:
        """The ball's. [S]"""
        models = (server.new_start(keys.fold("radius", number)) for number in range(_INITIAL_MODELS))
        squares = sum((reference - initial).square().sum(1) for initial in models)
        return self.radius * (squares / _INITIAL_MODELS) ** 0.5

    def _ends(self, sent: Tensor) -> Callable[[Step], Tensor] | None:
        """Which clients stop after a step. [q] bool"""
        if self.stop == "accuracy":
            return lambda step: step.accuracy() < self.stop_accuracy
        if self.stop == "distance":
            return lambda step: (step.weights - sent[step.row]).norm(dim=1) > self.stop_distance
        return None
