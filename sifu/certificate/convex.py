"""The strongly convex case: L2-regularised logistic regression on images of length 1, gradient descent on all data.

The constants follow from the scenario alone, nobody's data are looked at. With the 1 of the bias an example has length
at most R = sqrt(2); the Hessian of the cross-entropy in the logits is at most 1/2, its gradient at most sqrt(2) long.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from torch import Tensor

from sifu.config.scenario import Scenario
from sifu.errors import MethodRefused

_UNITS = 16  # in the last place, that a round may add
_RADIUS = math.sqrt(2)  # of an image of length 1 and the 1 of the bias


class Constants(NamedTuple):
    """What is known of every client's loss, and so of their mean over any set of clients."""

    beta: float  # smoothness
    mu: float  # strong convexity
    optimum: float  # no minimiser is further from the origin
    gradient: float  # no client's gradient is longer at a minimiser of others' mean
    step: float  # one round of gradient descent brings two models this factor closer

    @property
    def rounding(self) -> float:
        """Room for what float32 adds to a model over any number of rounds: 16 units in the last place a round.

        An allowance, tested and generous (`optimum` is far beyond real models), not a theorem of its own.
        """
        return _UNITS * 2.0**-23 * self.optimum / (1 - self.step)

    def moves(self, weight: Tensor) -> Tensor:
        """How far the minimiser can move when clients of this share of all examples leave: p L / ((1 - p) mu)."""
        return weight / (1 - weight) * self.gradient / self.mu


def constants_of(scenario: Scenario) -> Constants:
    """The constants of a strongly convex scenario; any other is refused."""
    federation = scenario.federation
    for holds, words in (
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
            raise MethodRefused(f"it needs a strongly convex loss and gradient descent on all data: {words}")
    beta, mu = _RADIUS**2 / 2 + federation.weight_decay, federation.weight_decay
    if federation.client_lr > 2 / (beta + mu):
        raise MethodRefused(
            f"federation.client_lr must be at most 2 / (beta + mu) = {2 / (beta + mu):g} for its theorem"
        )
    steepest = math.sqrt(2) * _RADIUS  # of the cross-entropy
    # at a minimiser lambda theta = -(mean gradient of the cross-entropy), so neither part is longer than `steepest`
    return Constants(beta, mu, steepest / mu, 2 * steepest, 1 - federation.client_lr * mu)
