"""The engine: trains all seeds at once, and replays past rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.config.optimiser import Optimiser
from sifu.core.keys import Keys
from sifu.errors import StoreError
from sifu.federation.checkpoint import Checkpoints
from sifu.federation.exactness import repeats_exactly, snapshot_interval
from sifu.federation.recorder import Recorder
from sifu.federation.replay_check import NOT_THE_SAME, refuse_other_updates
from sifu.federation.rounds import Round, Rounds
from sifu.federation.segment import Segment
from sifu.federation.stop import Stop
from sifu.federation.training import Progress, Training


class PastStep(NamedTuple):
    """A replayed round."""

    number: int  # from 0
    rows: Tensor  # [R] the seeds that had it
    before: Tensor  # [R, P] the weights that it began with
    result: Round


@dataclass(frozen=True)
class Engine(Rounds):
    """Trainings, which are rounds until a stop rule is met, and the replay of their rounds."""

    checkpoints: Checkpoints | None = None  # where running trainings are saved; None: nowhere

    def run(
        self,
        start: Tensor,
        available: Tensor,
        keys: Keys,
        stop: Stop,
        *,
        snapshot_every: int = 50,
        progress: Progress | None = None,
        rows: Tensor | None = None,
        optimiser: Optimiser | None = None,
    ) -> Segment:
        """Train every seed from `start` [S, P] on its `available` [S, C] clients until `stop`.

        `rows` [S] are the seeds' rows of the clients' data, if they are not 0, 1, 2, ...: a seed may occur twice.
        `optimiser`: of the clients, in place of the engine's own.
        """
        if optimiser is not None and optimiser != self.optimiser:
            again = self.using(optimiser)
            return again.run(start, available, keys, stop, snapshot_every=snapshot_every, progress=progress, rows=rows)
        if not self.is_exact:
            snapshot_every = snapshot_interval(start, int(stop.max_rounds.max()), snapshot_every)
        recorder = Recorder(self.model, start, self.places, snapshot_every)
        training = Training(self, start, available, keys, stop, recorder, progress, rows, self.checkpoints)
        if self.checkpoints is not None:
            self.checkpoints.resume(training)
        segment = training.finish()
        return segment if self.optimiser is None else replace(segment, optimiser=self.optimiser)

    def using(self, optimiser: Optimiser | None) -> Engine:
        """The same engine with another optimiser of the clients; None: the federation's SGD."""
        if optimiser == self.optimiser:
            return self
        if optimiser not in self._others:
            self._others[optimiser] = replace(self, optimiser=optimiser)
        return self._others[optimiser]

    @cached_property
    def _others(self) -> dict[Optimiser | None, Engine]:
        return {}

    @cached_property
    def is_exact(self) -> bool:
        """Whether a round that is replayed, with any of its seeds and clients, has the bits of the training."""
        return repeats_exactly(self)

    def replay(self, segment: Segment, rounds: Tensor) -> Tensor:
        """The weights after `rounds` [S] rounds of a segment. [S, P]"""
        if bool((rounds < 0).any()) or bool((rounds > segment.rounds).any()):
            raise StoreError(f"round {rounds.tolist()} is not in a history of {segment.rounds.tolist()} rounds")
        at, weights = segment.nearest_snapshot(rounds)
        weights = weights.to(self.clients.images.device)
        while (todo := torch.nonzero(at < rounds).flatten()).numel():
            weights[todo] = self._replay_round(segment, weights[todo], todo, at[todo]).weights
            at[todo] += 1
        return weights

    def updates(self, segment: Segment, rounds: Tensor) -> Round:
        """Round number `rounds` [S] (0: the first) of every seed, replayed: the clients' weights and their average."""
        if bool((rounds >= segment.rounds).any()):
            raise StoreError(f"there is no round {rounds.tolist()} in a history of {segment.rounds.tolist()} rounds")
        return self._replay_round(segment, self.replay(segment, rounds), torch.arange(len(rounds)), rounds)

    def walk(self, segment: Segment, until: Tensor | None = None) -> Iterator[PastStep]:
        """Replay the rounds of a segment one after another, up to round `until` [S] if that is given."""
        weights = segment.start.clone().to(self.clients.images.device)
        last = segment.rounds if until is None else segment.rounds.minimum(until)
        for number in range(int(last.max()) if len(last) else 0):
            rows = torch.nonzero(last > number).flatten()
            before = weights[rows]
            result = self._replay_round(segment, before, rows, torch.full_like(rows, number))
            snapshot = segment.snapshot_after(number)
            weights[rows] = result.weights if snapshot is None else snapshot[rows].to(weights.device)
            yield PastStep(number, rows, before, result)

    def _replay_round(self, segment: Segment, weights: Tensor, seeds: Tensor, rounds: Tensor) -> Round:
        """A recorded round, computed again and compared with the recorded scalars."""
        parts = (seeds, rounds, segment.available[seeds], segment.key_state[seeds])
        rows, numbers, available, state = (part.to(weights.device) for part in parts)
        result = self.using(segment.optimiser).round(weights, rows, numbers, available, Keys(state))
        recorded, width = segment.trace.cohort[seeds, rounds], result.cohort.shape[1]
        if not torch.equal(result.cohort.cpu(), recorded[:, :width]) or bool((recorded[:, width:] >= 0).any()):
            raise StoreError(NOT_THE_SAME)
        refuse_other_updates(weights, result.local, segment.trace.update_norm[seeds, rounds, :width])
        return result
