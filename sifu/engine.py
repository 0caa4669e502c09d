"""FedAvg over all seeds and sampled clients at once: rounds, and the past walked again.

A seed's result does not depend on the seeds beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.aggregation import mean, private_mean
from sifu.checkpoint import Checkpoints
from sifu.cohort import cohort_places, cohort_sizes, cohort_weights, draw_cohort
from sifu.errors import StoreError
from sifu.evaluation import Evaluator
from sifu.graph import Recorded
from sifu.history import Segment
from sifu.keys import Keys
from sifu.local import LocalTrainer, local_trainer
from sifu.local.batches import Batcher
from sifu.models.flat import FlatModel
from sifu.recorder import Recorder
from sifu.scenario import Federation
from sifu.stop import Stop
from sifu.training import Progress, Training
from sifu.types import Clients
from sifu.workers import Workers

_REPLAY_TOLERANCE = 1e-2  # of the norms of updates: other data differ by more, the rounding of a GPU by less


class Round(NamedTuple):
    """What one round did."""

    cohort: Tensor  # [R, m]
    local: Tensor  # [R, m, P] the clients' weights
    weights: Tensor  # [R, P] their average


@dataclass(frozen=True)
class Engine:
    """Trains `model` on `clients`; `workers` on the CPU, None on a GPU."""

    model: FlatModel
    clients: Clients
    federation: Federation
    workers: Workers | None
    checkpoints: Checkpoints | None = None  # where trainings are kept while they run; None: nowhere

    @cached_property
    def trainer(self) -> LocalTrainer:
        return local_trainer(self.model, self.clients, self.federation, self.workers)

    @cached_property
    def batcher(self) -> Batcher:
        return Batcher.of(self.clients, self.federation)

    @cached_property
    def evaluator(self) -> Evaluator:
        return Evaluator(self.model, self.clients, self.workers)

    def round(self, weights: Tensor, seeds: Tensor, rounds: Tensor, available: Tensor, keys: Keys) -> Round:
        """One round from `weights` [R, P]; `seeds` [R] are rows of the clients' data, `rounds` [R] its numbers."""
        cohort = draw_cohort(keys, rounds, available, self.federation)
        return self.train_cohort(weights, seeds, rounds, cohort, keys)

    def train_cohort(
        self,
        weights: Tensor,
        seeds: Tensor,
        rounds: Tensor,
        cohort: Tensor,
        keys: Keys,
        local_steps: int | None = None,
    ) -> Round:
        """The round of a given `cohort` [R, m] (-1: nobody, standing last); `local_steps`: only the first of its K."""
        steps = self.federation.local_steps if local_steps is None else local_steps
        same_size = self.federation.sampling == "fixed"  # a recording for each size of cohort would not pay
        train = self._trained if same_size else self._train_cohort
        local, average = train(weights, seeds, rounds, cohort, keys.state, local_steps=steps)
        return Round(cohort, local, average)

    @cached_property
    def _trained(self) -> Recorded:
        return Recorded(self._train_cohort)

    def _train_cohort(
        self, weights: Tensor, seeds: Tensor, rounds: Tensor, cohort: Tensor, key_state: Tensor, *, local_steps: int
    ) -> tuple[Tensor, Tensor]:
        """The clients' weights [R, m, P] and their average [R, P]."""
        keys, sizes = Keys(key_state), cohort_sizes(cohort, self.clients.size[seeds])  # [R, m]
        batches = self.batcher.draw(keys, rounds, cohort, sizes).first(local_steps)
        local = self.trainer(weights, seeds, cohort, batches)
        return local, self.aggregate(weights, local, sizes, rounds, keys)

    def aggregate(self, weights: Tensor, local: Tensor, sizes: Tensor, rounds: Tensor, keys: Keys) -> Tensor:
        """The new global model of clients' weights `local` [R, m, P] with `sizes` [R, m] examples. [R, P]"""
        if self.federation.privacy is None:
            return mean(weights, local, cohort_weights(sizes, local.dtype))
        noise = keys.fold("privacy", rounds).normal(weights.shape[1])
        return private_mean(weights, local, noise, self.federation)

    def weighted_mean(self, weights: Tensor, local: Tensor, cohort: Tensor) -> Tensor:
        """FedAvg's mean of clients' weights `local` [S, m, P], by their examples; `weights` [S, P] if nobody came."""
        sizes = cohort_sizes(cohort, self.clients.size)
        return mean(weights, local, cohort_weights(sizes, local.dtype))

    @property
    def places(self) -> int:
        """How many clients a round has room for."""
        return cohort_places(self.federation, self.clients.num_clients)

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
    ) -> Segment:
        """Train every seed from `start` [S, P] on its `available` [S, C] clients until `stop`.

        `rows` [S] are the seeds' rows of the clients' data, where those are not 0, 1, 2, ...: a seed may come twice.
        """
        recorder = Recorder(self.model, start, self.places, snapshot_every)
        training = Training(self, start, available, keys, stop, recorder, progress, rows, self.checkpoints)
        if self.checkpoints is not None:
            self.checkpoints.resume(training)
        return training.finish()

    def replay(self, segment: Segment, rounds: Tensor) -> Tensor:
        """The weights after `rounds` [S] rounds of a segment: exact on the CPU, to rounding on a GPU. [S, P]"""
        if bool((rounds < 0).any()) or bool((rounds > segment.rounds).any()):
            raise StoreError(f"round {rounds.tolist()} is not in a history of {segment.rounds.tolist()} rounds")
        at, weights = segment.nearest_snapshot(rounds)
        weights = weights.to(self.clients.images.device)
        while (todo := torch.nonzero(at < rounds).flatten()).numel():
            weights[todo] = self._again(segment, weights[todo], todo, at[todo]).weights
            at[todo] += 1
        return weights

    def updates(self, segment: Segment, rounds: Tensor) -> Round:
        """What every seed's clients did in round number `rounds` [S] (0: the first): their weights and the average."""
        if bool((rounds >= segment.rounds).any()):
            raise StoreError(f"there is no round {rounds.tolist()} in a history of {segment.rounds.tolist()} rounds")
        return self._again(segment, self.replay(segment, rounds), torch.arange(len(rounds)), rounds)

    def walk(self, segment: Segment) -> Iterator[tuple[int, Tensor, Round]]:
        """A whole segment once more: each round's number, the seeds that took it [R], and what they did."""
        weights = segment.start.clone().to(self.clients.images.device)
        for number in range(segment.trace.cohort.shape[1]):
            rows = torch.nonzero(segment.rounds > number).flatten()
            result = self._again(segment, weights[rows], rows, torch.full_like(rows, number))
            weights[rows] = result.weights
            yield number, rows, result

    def _again(self, segment: Segment, weights: Tensor, seeds: Tensor, rounds: Tensor) -> Round:
        """A recorded round once more, compared with what was recorded."""
        there = (
            part.to(weights.device) for part in (seeds, rounds, segment.available[seeds], segment.key_state[seeds])
        )
        rows, numbers, available, state = there
        result = self.round(weights, rows, numbers, available, Keys(state))
        recorded, width = segment.trace.cohort[seeds, rounds], result.cohort.shape[1]
        if not torch.equal(result.cohort.cpu(), recorded[:, :width]) or bool((recorded[:, width:] >= 0).any()):
            raise StoreError(_OTHER)
        refuse_other_updates(weights, result.local, segment.trace.update_norm[seeds, rounds, :width])
        return result


_OTHER = "the history was not made with these clients and keys: its rounds differ on replay"


def refuse_other_updates(weights: Tensor, local: Tensor, recorded: Tensor) -> None:
    """Refuse clients' weights `local` [R, m, P] that did not move from `weights` [R, P] as far as recorded [R, m]."""
    moved = (local - weights.unsqueeze(1)).norm(dim=-1).cpu()  # [R, m]
    if not torch.allclose(moved, recorded, rtol=_REPLAY_TOLERANCE, atol=_REPLAY_TOLERANCE):
        raise StoreError(_OTHER)
