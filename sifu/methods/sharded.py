"""Sharded federations (SISA, Bourtoule et al. 2021, over clients): retrain only the shards that a request hits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sifu.config.federation import Shards
from sifu.config.fields import at_least, setting
from sifu.errors import ConfigError
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Method, Unlearned, exact_promise

if TYPE_CHECKING:
    from sifu.config.scenario import Scenario
    from sifu.unlearning.method_types import History, Keys, Request, Server


class Sharded(Method):
    """k shards of M / k clients, a model theta_s each; the answer to x is argmax of (1/k) sum_s softmax(f(x; theta_s)).

    Client c is in shard floor(c k / M). A round samples m / k clients of every shard, at least one, and averages them
    within it: theta_s^{n+1} = sum over its clients i of p_i theta_i^{n+1}. No draw depends on clients of another shard,
    so that theta_s is that of a training without the forgotten clients wherever none of them is in shard s. The other
    shards start again from their initial models, without them: exact unlearning of the weights. How many rounds the
    shards have that are kept was decided by the training's stop rule, which asked all clients of then. SISA's slices,
    checkpoints inside of a shard, are left out.

    The stop rule is asked of the ensemble, on all remaining clients. A shard whose clients are all forgotten gets
    weights of zero: it answers every class alike. A kept shard stays as the training's stop rule left it, so that the
    shards that are hit may have to train for longer than the whole did, or in vain.

    Sequential: every request starts the shards that it hits again; all shards never saw any client forgotten so far.
    """

    name = "sharded"
    specified_from = "ours, after the paper's idea"
    exact = True
    assumptions = Assumptions(
        fedavg=False,
        convex=True,
        non_convex=True,
        stores="the initial models",
        reference="after SISA: Bourtoule et al., S&P 2021",
    )
    keeps = frozenset({Kept.START})

    shards: int = setting("number of shards (k)", at_least(2), default=5)

    def training(self, scenario: Scenario) -> Scenario:
        """The scenario in shards, with at least one client of each in a round."""
        federation, clients = scenario.federation, scenario.partition.num_clients
        if self.shards > clients:
            raise ConfigError("shards", self.shards, f"2 to partition.num_clients ({clients})")
        seats = -(-federation.clients_per_round // self.shards)
        shards = Shards(count=self.shards, num_clients=clients)
        sampled = min(clients, self.shards * seats)
        return replace(scenario, federation=replace(federation, clients_per_round=sampled, shards=shards))

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        hit, manned = server.shards_of(request.forget), server.shards_of(request.remain)  # [S, k]
        now, first = (part.unflatten(1, (self.shards, -1)) for part in (history.current, history.start))  # [S, k, P]
        again, empty = (mask.to(now.device)[..., None] for mask in (hit, ~manned))
        start = first.where(again, now).masked_fill(empty, 0.0).flatten(1)
        segment = server.recover_shards(start, keys, hit)
        promise = replace(exact_promise(request), blurred=start.cpu())
        return Unlearned(segment, history.end, promise)
