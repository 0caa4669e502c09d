"""What an unlearning method can have done: training of the clients that remain, counted, until the stop rule."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from sifu.certificate.rules import round_factor
from sifu.config.certificate import Certificate
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.packing import Runner
from sifu.federation.rounds import Round
from sifu.federation.segment import Segment, Work
from sifu.federation.stop import Stop
from sifu.federation.training import Progress
from sifu.unlearning.past_round import Past, train_again
from sifu.unlearning.request import Request


@dataclass(frozen=True)
class Server:
    """The engine as a method sees it: it cannot choose who is gone, when it is done, or what it costs."""

    engine: Engine
    request: Request
    stop: Stop
    scenario: Scenario
    progress: Progress | None = None
    runner: Runner | None = None  # None: the engine's own
    _asked: list[Work] = field(default_factory=list)  # one entry: all that was asked so far

    def round_factor(self, certificate: Certificate) -> float:
        """B^K by a method's own certificate: what a round does to a distance that is there already."""
        return round_factor(certificate, self.engine.federation)

    @property
    def spent(self) -> Work:
        """What has been asked of clients outside of recovery."""
        nothing = torch.zeros(len(self.request.remain), dtype=torch.int64)
        return self._asked[0] if self._asked else Work(nothing, nothing, nothing)

    def ask_again(self, weights: Tensor, past: Past, local_steps: int) -> tuple[Past, Round]:
        """Those who took part in a round of the past and remain train once more from `weights` [S, P], `local_steps`
        each, with the batches of then. A seed whose budget has no room for it, or where nobody remains, is left out.
        """
        past = past.only(self.request.remain)
        affords = self.stop.affords(self.spent.client_steps, past.visits * local_steps)  # [S]
        past = past.only(affords[:, None].expand_as(self.request.remain))
        came = past.visits
        self._asked[:] = [self.spent + Work.of((came > 0).long(), came, local_steps, weights.shape[1])]
        return past, train_again(self.engine, weights, past, local_steps)

    def average(self, weights: Tensor, local: Tensor, past: Past) -> Tensor:
        """FedAvg's mean of clients' weights `local` [S, m, P]; `weights` [S, P] where nobody took part."""
        return self.engine.weighted_mean(weights, local, past.cohort.to(weights.device))

    def recover(self, start: Tensor, keys: Keys, at_most: Tensor | None = None) -> Segment:
        """FedAvg on the remaining clients from `start` [S, P], for `at_most` [S] rounds if a method wants no more."""
        stop = self.stop.after(self.spent.client_steps)
        if at_most is not None:
            stop = Stop(stop.target, stop.min_rounds, stop.max_rounds.minimum(at_most))
        return self._run(start, keys, stop)

    def hold(self, start: Tensor, keys: Keys) -> Segment:
        """The model as it is, without a single round; `done` where it meets the target as it is."""
        return self._run(start, keys, Stop(self.stop.target, 0, torch.zeros_like(self.stop.max_rounds)))

    def _run(self, start: Tensor, keys: Keys, stop: Stop) -> Segment:
        run = self.runner or self.engine.run
        return run(
            start,
            self.request.remain.to(start.device),
            keys.fold("recovery"),
            stop,
            snapshot_every=self.scenario.snapshot_every,
            progress=self.progress,
        )
