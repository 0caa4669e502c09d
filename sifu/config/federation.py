"""How a round of FedAvg trains, and when a training ends.

Paper symbols: m `clients_per_round`, K `local_steps`, B `batch_size`, eta `client_lr`.
"""

from __future__ import annotations

from sifu.config.fields import above, at_least, between, from_to, one_of, setting, settings
from sifu.errors import ConfigError


@settings
class Privacy:
    """The aggregation of DP-FedAvg (McMahan et al. 2018): sum of shortened updates, divided by m, plus noise."""

    update_clip: float = setting("updates with a larger norm are shortened to this norm (C)", above(0))
    noise: float = setting("standard deviation of the noise on each weight of the average", at_least(0))


@settings
class Shards:
    """A federation in parts that never mix: each trains a model of its own, and their answers are averaged."""

    count: int = setting("number of shards (k)", at_least(2))
    num_clients: int = setting("clients that are dealt out: client c is in shard floor(c k / M)", at_least(2))

    def refuse(self) -> None:
        if self.count > self.num_clients:
            raise ConfigError("count", self.count, f"2 to the number of clients ({self.num_clients})")


@settings
class Federation:
    """FedAvg: how a round trains."""

    clients_per_round: int = setting(
        "clients sampled in a round (m); the expected number with Poisson sampling", at_least(1)
    )
    local_steps: int = setting("SGD steps of a sampled client in a round (K)", at_least(1))
    batch_size: int = setting("examples per step (B)", at_least(1))
    batches: str = setting(
        "`epochs`: a client shuffles its examples and takes batch after batch, until all had their turn; `fresh`: it "
        "draws each batch from all of them, as in the paper's code",
        one_of(("epochs", "fresh")),
        default="epochs",
    )
    client_lr: float = setting("step size of the clients (eta)", above(0, 1e38))  # as large as float32 holds
    momentum: float = setting(
        "momentum of the clients' SGD; it restarts at zero in each round", from_to(0, 0.999), default=0.9
    )
    clip: float | None = setting(
        "gradients with a larger norm are shortened to this norm; null: never", above(0), default=None
    )
    weight_decay: float = setting(
        "lambda of the penalty lambda / 2 ||weights||^2 (bias included), which makes a convex loss strongly convex",
        at_least(0),
        default=0.0,
    )
    sampling: str = setting(
        "`fixed`: m clients per round; `poisson`: each available client independently, with the same probability",
        one_of(("fixed", "poisson")),
        default="fixed",
    )
    spares: int | None = setting(
        "clients next in line that are trained in every round and not averaged, for methods whose certificate refills "
        "the seats of forgotten clients. These methods pay for them, others do not. 1 is enough for single clients; "
        "null: as many as m",
        at_least(0),
        default=None,
    )
    privacy: Privacy | None = setting("shorten the clients' updates and add noise; null: plain FedAvg", default=None)
    shards: Shards | None = setting("train in parts that never mix; null: one model of all clients", default=None)

    def refuse(self) -> None:
        if self.shards is not None and (self.sampling != "fixed" or self.privacy is not None):
            raise ConfigError("shards", "set", "null with Poisson sampling or privacy")

    @property
    def spare_seats(self) -> int:
        """Clients that are trained in a round and not averaged, for a method that relies on them."""
        return self.clients_per_round if self.spares is None else self.spares

    @property
    def num_models(self) -> int:
        """Models that are trained side by side: one a shard."""
        return 1 if self.shards is None else self.shards.count


@settings
class Target:
    """Train until the accuracy on the remaining clients' own data reaches a target."""

    accuracy: float = setting("accuracy to reach, as a share", between(0, 1))
    min_rounds: int = setting("minimum rounds, even if the target is reached before", at_least(0), default=50)
    max_rounds: int = setting("maximum rounds, even if the target is not reached", at_least(1), default=10_000)
    schedule: str = setting(
        "when accuracy is evaluated; `close`: every 20 rounds, or every 10, 5, 2 and 1 from 20, 10, 5 and 2 percentage "
        "points below the target on; `released`: as in the paper's code, from 5, 2.5, 1 and 0.5 points on, and never "
        "less often again",
        one_of(("close", "released")),
        default="close",
    )
    budget_ends: str = setting(
        "when a recovery with a budget ends; `spent`: when the budget is spent; `target`: at the target accuracy as "
        "well, as in the paper's code",
        one_of(("spent", "target")),
        default="spent",
    )

    def refuse(self) -> None:
        if self.min_rounds > self.max_rounds:
            raise ConfigError("min_rounds", self.min_rounds, f"at most max_rounds ({self.max_rounds})")
