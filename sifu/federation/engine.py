"""The engine: trains all seeds at once, and replays past rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sifu.config.optimiser import Optimiser
from sifu.core.keys import Keys
from sifu.errors import StoreError
from sifu.federation.checkpoint import Checkpoints
from sifu.federation.cohort import draw_cohort
from sifu.federation.exactness import repeats_exactly, snapshot_interval
from sifu.federation.recorder import CohortRecorder, Recorder
from sifu.federation.replay_check import NOT_THE_SAME, ReplayCheck
from sifu.federation.rounds import Round, Rounds
from sifu.federation.segment import Segment
from sifu.federation.shared_rounds import SharedRounds
from sifu.federation.stop import Stop
from sifu.federation.training import Progress, Training
from sifu.hardware.upload import upload


class PastStep(NamedTuple):
    """A replayed round."""

    number: int  # from 0
    rows: Tensor  # [R] the seeds that had it
    before: Tensor  # [R, P] the weights that it began with
    result: Round  # places beyond the cohort's seats are stand-ins: trained, not averaged


@dataclass(frozen=True)
class Engine(Rounds):
    """Trainings, which are rounds until a stop rule is met, and the replay of their rounds."""

    checkpoints: Checkpoints | None = None  # where running trainings are saved; None: nowhere
    shared: SharedRounds | None = None  # trains rounds once that trainings with other stop rules have, too
    history: bool = True  # False: of trainings only the cohorts are kept, so that they cannot be replayed

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
        idle: Tensor | None = None,
    ) -> Segment:
        """Train every seed from `start` [S, P] on its `available` [S, C] clients until `stop`.

        `rows` [S] are the seeds' rows of the clients' data, if they are not 0, 1, 2, ...: a seed may occur twice.
        `optimiser`: of the clients, in place of the engine's own. `idle` [S, C]: clients that are not sampled, though
        accuracy is also that of their data.
        """
        if optimiser is not None and optimiser != self.optimiser:
            options: dict[str, Any] = {"snapshot_every": snapshot_every, "progress": progress}
            return self.using(optimiser).run(start, available, keys, stop, **options, rows=rows, idle=idle)
        if self.history and not self.is_exact:
            snapshot_every = snapshot_interval(start, int(stop.max_rounds.max()), snapshot_every)
        recorded = Recorder if self.history else CohortRecorder
        recorder = recorded(self.model, start, self.places, snapshot_every)
        shared = self.shared if self.history else None
        watch = None if shared is None else shared.after_round
        training = Training(self, start, available, keys, stop, recorder, progress, rows, self.checkpoints, idle, watch)
        if self.checkpoints is not None:
            self.checkpoints.resume(training)
        if shared is not None:
            shared.begin(training)
        segment = training.finish()
        if shared is not None:
            shared.end(training, segment)
        if self.optimiser is None and idle is None:
            return segment
        return replace(segment, optimiser=self.optimiser, idle=None if idle is None else idle.cpu())

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
        self._refuse_replay()
        if bool((rounds < 0).any()) or bool((rounds > segment.rounds).any()):
            raise StoreError(f"round {rounds.tolist()} is not in a history of {segment.rounds.tolist()} rounds")
        at, weights = segment.nearest_snapshot(rounds)
        weights, check = weights.to(self.clients.images.device), ReplayCheck()
        while (todo := torch.nonzero(at < rounds).flatten()).numel():
            rows = upload(todo, weights.device)
            weights[rows] = self._replay_round(segment, weights[rows], todo, at[todo], check).weights
            at[todo] += 1
        check.finish()
        return weights

    def updates(self, segment: Segment, rounds: Tensor) -> Round:
        """Round number `rounds` [S] (0: the first) of every seed, replayed: the clients' weights and their average."""
        if bool((rounds >= segment.rounds).any()):
            raise StoreError(f"there is no round {rounds.tolist()} in a history of {segment.rounds.tolist()} rounds")
        weights, check = self.replay(segment, rounds), ReplayCheck()
        result = self._replay_round(segment, weights, torch.arange(len(rounds)), rounds, check)
        check.finish()
        return result

    def walk(
        self, segment: Segment, until: Tensor | None = None, stand_ins: Iterable[Tensor] | None = None
    ) -> Iterator[PastStep]:
        """Replay the rounds of a segment one after another, up to round `until` [S] if that is given.

        `stand_ins` [R, e] of each round train next to its cohort, and are not averaged; their places come after it. The
        host does not wait for a GPU: a round that differs from the recorded one is refused some rounds later.
        """
        self._refuse_replay()
        weights, check = segment.start.to(self.clients.images.device, copy=True), ReplayCheck()
        next_to = repeat(None) if stand_ins is None else iter(stand_ins)
        last = segment.rounds if until is None else segment.rounds.minimum(until)
        for number in range(int(last.max()) if len(last) else 0):
            rows = torch.nonzero(last > number).flatten()
            at = upload(rows, weights.device)
            before = weights[at]
            result = self._replay_round(segment, before, rows, torch.full_like(rows, number), check, next(next_to))
            snapshot = segment.snapshot_after(number)
            weights[at] = result.weights if snapshot is None else upload(snapshot[rows], weights.device)
            yield PastStep(number, rows, before, result)
        check.finish()

    def _refuse_replay(self) -> None:
        if not self.history:
            raise StoreError("these trainings were made without a history, so that no round can be replayed")

    def _replay_round(
        self,
        segment: Segment,
        weights: Tensor,
        seeds: Tensor,
        rounds: Tensor,
        check: ReplayCheck,
        stand_ins: Tensor | None = None,
    ) -> Round:
        """A recorded round, computed again; `check` compares it with the recorded scalars."""
        device, recorded = weights.device, segment.trace.cohort[seeds, rounds]
        parts = (seeds, rounds, segment.sampled[seeds], segment.key_state[seeds])
        rows, numbers, available, state = (upload(part, device) for part in parts)
        cohort = draw_cohort(Keys(state), numbers, available, self.federation)
        seats = cohort.shape[1]
        if seats > recorded.shape[1] or bool((recorded[:, seats:] >= 0).any()):
            raise StoreError(NOT_THE_SAME)
        places = cohort if stand_ins is None else torch.cat([cohort, upload(stand_ins, device)], dim=1)
        engine = self.using(segment.optimiser)
        result = engine.train_cohort(weights, rows, numbers, places, Keys(state), seats=seats)
        same = (cohort == upload(recorded[:, :seats], device)).all()
        check.add(weights, result.local[:, :seats], segment.trace.update_norm[seeds, rounds, :seats], same)
        return result
