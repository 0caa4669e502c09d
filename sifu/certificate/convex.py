"""The strongly convex case: L2-regularised logistic regression on images of length 1, gradient descent on all data.

The constants follow from the scenario alone, not from any data. With the 1 for the bias, an example has norm at most
R = sqrt(2); the Hessian of the cross-entropy in the logits is at most 1/2, its gradient has norm at most sqrt(2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from torch import Tensor

from sifu.config.scenario import Scenario
from sifu.errors import MethodRefused

_UNITS = 16  # in the last place: rounding error that a round may add
_RADIUS = math.sqrt(2)  # norm of an image of length 1 with the 1 for the bias


class Constants(NamedTuple):
    """Bounds for every client's loss, and so for the mean loss of any set of clients."""

    beta: float  # smoothness
    mu: float  # strong convexity
    optimum: float  # largest norm of a minimiser
    gradient: float  # largest norm of a client's gradient at a minimiser of other clients' mean
    step: float  # factor by which one round of gradient descent scales the distance of two models

    @property
    def rounding(self) -> float:
        """Allowance for float32 rounding over any number of rounds: 16 units in the last place per round.

        Generous (`optimum` is far larger than real models) and tested, but not a theorem.
        """
        return _UNITS * 2.0**-23 * self.optimum / (1 - self.step)

    def moves(self, weight: Tensor) -> Tensor:
        """How far the minimiser can move if clients with this share p of examples are removed: p L / ((1 - p) mu)."""
        return weight / (1 - weight) * self.gradient / self.mu


def constants_of(scenario: Scenario) -> Constants:
    """The constants of a strongly convex scenario; any other is refused."""
    federation = scenario.federation
    for holds, requirement in (
        (scenario.model == "logistic", "model: logistic"),
        (federation.weight_decay > 0, "federation.weight_decay above 0"),
        (scenario.dataset.scale == "unit", "dataset.scale: unit"),
        (federation.local_steps == 1, "federation.local_steps: 1"),
        (federation.clients_per_round == scenario.partition.num_clients, "all clients in every round"),
        (federation.batch_size >= scenario.partition.examples, "full batches"),
        (scenario.partition.kind != "natural", "clients of the same size"),
        (federation.clip is None and federation.privacy is None, "neither clipping nor noise in a round"),
    ):
        if not holds:
            raise MethodRefused(f"it needs a strongly convex loss and gradient descent on all data: {requirement}")
    beta, mu = _RADIUS**2 / 2 + federation.weight_decay, federation.weight_decay
    if federation.client_lr > 2 / (beta + mu):
        raise MethodRefused(
            f"federation.client_lr must be at most 2 / (beta + mu) = {2 / (beta + mu):g} for its theorem"
        )
    steepest = math.sqrt(2) * _RADIUS  # largest norm of the gradient of the cross-entropy
    # at a minimiser lambda theta = -(mean gradient of the cross-entropy), so both have norm at most `steepest`
    return Constants(beta, mu, steepest / mu, 2 * steepest, 1 - federation.client_lr * mu)
