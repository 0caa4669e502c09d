"""What an unlearning method can have done: training of the clients that remain, until the scenario's stop rule."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sifu.certificate.rules import round_factor
from sifu.engine import Engine
from sifu.history import Segment
from sifu.keys import Keys
from sifu.requests import Request
from sifu.scenario import Certificate, Scenario
from sifu.stop import Stop


@dataclass(frozen=True)
class Server:
    """The engine as a method sees it: it cannot choose its clients, nor when it is done."""

    engine: Engine
    request: Request
    stop: Stop
    scenario: Scenario

    def round_factor(self, certificate: Certificate) -> float:
        """B^K by a method's own certificate: what a round does to a distance that is there already."""
        return round_factor(certificate, self.engine.federation)

    def recover(self, start: Tensor, keys: Keys) -> Segment:
        """FedAvg on the remaining clients from `start` [S, P]."""
        return self._run(start, keys, self.stop)

    def hold(self, start: Tensor, keys: Keys) -> Segment:
        """The model as it is, without a single round; `done` where it meets the target as it is."""
        return self._run(start, keys, Stop(self.stop.target, 0, torch.zeros_like(self.stop.max_rounds)))

    def _run(self, start: Tensor, keys: Keys, stop: Stop) -> Segment:
        remain = self.request.remain.to(start.device)
        return self.engine.run(start, remain, keys.fold("recovery"), stop, snapshot_every=self.scenario.snapshot_every)
