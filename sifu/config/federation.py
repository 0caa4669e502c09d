"""How a round of FedAvg trains, and when a training ends.

Paper symbols: m `clients_per_round`, K `local_steps`, B `batch_size`, eta `client_lr`.
"""

from __future__ import annotations

from sifu.config.fields import above, at_least, between, from_to, one_of, setting, settings
from sifu.errors import ConfigError


@settings
class Privacy:
    """Aggregation of DP-FedAvg (McMahan et al. 2018): sum of shortened updates over m, plus noise."""

    update_clip: float = setting("updates longer than this are shortened to it (C)", above(0))
    noise: float = setting("standard deviation of the noise on each weight of the average", at_least(0))


@settings
class Federation:
    """FedAvg: how a round trains."""

    clients_per_round: int = setting("clients sampled in a round (m); the expected number, if Poisson", at_least(1))
    local_steps: int = setting("SGD steps of a sampled client in a round (K)", at_least(1))
    batch_size: int = setting("examples a step (B)", at_least(1))
    client_lr: float = setting("step size of the clients (eta)", above(0))
    momentum: float = setting("momentum of the clients' SGD, started anew each round", from_to(0, 0.999), default=0.9)
    clip: float | None = setting("gradients longer than this are shortened to it; null: never", above(0), default=None)
    weight_decay: float = setting(
        "lambda of the clients' loss, lambda / 2 ||weights||^2 with the bias: makes a convex loss strongly convex",
        at_least(0),
        default=0.0,
    )
    sampling: str = setting(
        "`fixed`: m clients a round; `poisson`: each available one alone, with the same chance",
        one_of(("fixed", "poisson")),
        default="fixed",
    )
    privacy: Privacy | None = setting("shorten and blur the clients' updates; null: plain FedAvg", default=None)


@settings
class Target:
    """Train until the accuracy on the retained clients' own data reaches a target."""

    accuracy: float = setting("accuracy to reach, as a share", between(0, 1))
    min_rounds: int = setting("rounds before the target may stop a run", at_least(0), default=50)
    max_rounds: int = setting("rounds after which a run that has not reached it stops", at_least(1), default=10_000)

    def refuse(self) -> None:
        if self.min_rounds > self.max_rounds:
            raise ConfigError("min_rounds", self.min_rounds, f"at most max_rounds ({self.max_rounds})")
