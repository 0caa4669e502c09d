"""Recovery: the remaining clients of a request train by FedAvg until the stop rule ends it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from sifu.config.optimiser import Optimiser, gradients_of
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.core.types import Status
from sifu.federation.cohort import shard_seats
from sifu.federation.engine import Engine
from sifu.federation.packing import Runner
from sifu.federation.segment import Segment, Work, count_work
from sifu.federation.stop import Stop
from sifu.federation.training import Progress
from sifu.unlearning.oracle import Oracle, ask_oracle
from sifu.unlearning.request import Request


@dataclass(frozen=True)
class Recovery:
    """The recoveries of one request. Each is told what was `spent` before it; `work` counts what it costs."""

    engine: Engine
    request: Request
    stop: Stop
    scenario: Scenario
    progress: Progress | None
    run: Runner
    spares: int  # clients a round that are trained for the method and not averaged

    def of_everyone(
        self,
        start: Tensor,
        keys: Keys,
        spent: Work,
        at_most: Tensor | None,
        counted: Tensor | None,
        optimiser: Optimiser | None,
    ) -> Segment:
        """All remaining clients, from `start` [S, P]; see `Server.recover`."""
        stop = self.stop.after(spent.client_steps).with_gradients(gradients_of(optimiser))
        if at_most is not None:
            stop = replace(stop, max_rounds=stop.max_rounds.minimum(at_most))
        stop = stop.crediting(spent.rounds) if counted is None else stop.counting(counted)
        return self._train(start, keys, stop, optimiser)

    def by_oracle(self, start: Tensor, keys: Keys, spent: Work, initial: Tensor) -> Segment:
        """Until the test accuracy is that of a model that was retrained from `initial` [S, P]."""
        stop = self.stop.after(spent.client_steps)
        whole = stop if stop.client_steps is None else Stop.at_target(self.scenario.stop, len(start))  # of retraining
        found = ask_oracle(self.engine, initial, start, self.request.remain, keys, stop, whole)
        segment = self._train(start, keys, Stop(None, 0, found.rounds))
        return _judged(segment, found) if stop.must_reach else segment  # a budget is kept in any case

    def of_shards(self, start: Tensor, keys: Keys, spent: Work, members: Tensor) -> Segment:
        """The clients `members` [S, k, C] of some shards alone. Seeds whose shards have no client do not train."""
        federation, remain = self.scenario.federation, self.request.remain
        visits = members.sum(2).clamp(max=shard_seats(federation)).sum(1)  # [S] of a round
        stop = self.stop.after(spent.client_steps).costing(visits * federation.local_steps)
        stop = replace(stop.crediting(spent.rounds), max_rounds=stop.max_rounds.where(visits > 0, 0))
        return self._train(start, keys, stop, idle=(remain & ~members.any(1)).to(start.device))

    def of_nobody(self, start: Tensor, keys: Keys) -> Segment:
        """Not a single round; `done` where `start` [S, P] meets the target."""
        stop = replace(self.stop, min_rounds=0, max_rounds=torch.zeros_like(self.stop.max_rounds))
        return self._train(start, keys, stop)

    def work(self, segment: Segment) -> Work:
        """The cost of a recovery."""
        federation = self.scenario.federation
        return count_work(segment, federation.local_steps, self.spares, federation.num_models)

    def _train(
        self, start: Tensor, keys: Keys, stop: Stop, optimiser: Optimiser | None = None, idle: Tensor | None = None
    ) -> Segment:
        given = {"optimiser": optimiser, "idle": idle}
        other: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        return self.run(
            start,
            self.request.remain.to(start.device),
            keys.fold("recovery"),
            stop,
            snapshot_every=self.scenario.snapshot_every,
            progress=self.progress,
            **other,
        )


def _judged(segment: Segment, found: Oracle) -> Segment:
    """A segment whose seeds have not reached their goal where an oracle found that they had not met it."""
    ended = zip(segment.status, found.met.tolist(), strict=True)
    status = tuple(Status.NOT_REACHED if one == Status.DONE and not met else one for one, met in ended)
    return replace(segment, status=status)
