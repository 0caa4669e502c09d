"""The record of a run: scalars of every round and sparse snapshots, from which any round can be replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.config.optimiser import Optimiser, gradients_of
from sifu.core.types import Status


class Evaluation(NamedTuple):
    """One evaluation of one seed."""

    seed_row: int
    round: int
    retain_accuracy: float  # over the clients that take part
    forget_accuracy: float | None  # over the others; None where there are none


@dataclass(frozen=True)
class Trace:
    """The scalars of every round and sampled client; rounds after a seed's last one are padding."""

    cohort: Tensor  # [S, T, m] int64 client numbers, -1: empty place
    distance: Tensor  # [S, T, m] ||theta^{n+1} - theta_c^{n+1}||
    update_norm: Tensor  # [S, T, m] ||theta_c^{n+1} - theta^n||
    layer_norm: Tensor  # [S, T, m, layers] the same for each layer
    step_norm: Tensor  # [S, T] ||theta^{n+1} - theta^n||


@dataclass(frozen=True)
class Segment:
    """A sequence of FedAvg rounds from `start` to `final`, and all that its replay needs."""

    start: Tensor  # [S, P]
    final: Tensor  # [S, P]
    rounds: Tensor  # [S] int64: number of rounds of each seed
    status: tuple[Status, ...]  # [S]
    available: Tensor  # [S, C] bool: who could be sampled
    key_state: Tensor  # [S] int64: the key of its random draws
    trace: Trace
    snapshots: Tensor  # [S, Q, P]: the weights after snapshot_every, 2 snapshot_every, ... rounds
    snapshot_every: int
    evaluations: tuple[Evaluation, ...] = ()
    optimiser: Optimiser | None = None  # of the clients; None: the federation's SGD
    idle: Tensor | None = None  # [S, C] bool: who is available and was not sampled all the same; None: nobody

    @property
    def sampled(self) -> Tensor:
        """Who was sampled from. [S, C] bool"""
        return self.available if self.idle is None else self.available & ~self.idle

    def nearest_snapshot(self, rounds: Tensor) -> tuple[Tensor, Tensor]:
        """The last snapshot at or before `rounds` [S]: its round [S] and its weights [S, P]."""
        number = rounds // self.snapshot_every  # [S]
        weights, later = self.start.clone(), torch.nonzero(number).flatten()
        weights[later] = self.snapshots[later, number[later] - 1]
        return number * self.snapshot_every, weights

    def snapshot_after(self, number: int) -> Tensor | None:
        """The weights after round `number` (0: the first) if there is a snapshot. [S, P]"""
        kept, rest = divmod(number + 1, self.snapshot_every)
        return self.snapshots[:, kept - 1] if rest == 0 else None

    def part(self, which: slice) -> Segment:
        """The segment of some of the seeds, as if they had been trained alone."""
        rounds = self.rounds[which]
        longest = int(rounds.max()) if len(rounds) else 0
        trace = Trace(*(tensor[which, :longest] for tensor in vars(self.trace).values()))
        first, last, _ = which.indices(len(self.rounds))
        evaluations = (entry for entry in self.evaluations if first <= entry.seed_row < last)
        return Segment(
            self.start[which],
            self.final[which],
            rounds,
            self.status[which],
            self.available[which],
            self.key_state[which],
            trace,
            self.snapshots[which, : longest // self.snapshot_every],
            self.snapshot_every,
            tuple(entry._replace(seed_row=entry.seed_row - first) for entry in evaluations),
            self.optimiser,
            None if self.idle is None else self.idle[which],
        )

    def happened(self) -> Tensor:
        """Which rounds of the trace happened, and are not padding. [S, T] bool"""
        return torch.arange(self.trace.cohort.shape[1]) < self.rounds[:, None]


@dataclass(frozen=True)
class Work:
    """The cost of a run, counted by the engine. All [S]."""

    rounds: Tensor
    client_steps: Tensor  # gradients of a batch, over all clients: one a local step, two with a Hessian's product
    comm_floats: Tensor  # floats moved, down and up
    server_steps: Tensor | None = None  # such steps at the server, on its own examples; None: none

    @staticmethod
    def of(rounds: Tensor, visits: Tensor, local_steps: int, num_weights: int) -> Work:
        """The cost of `rounds` [S] with `visits` [S] client trainings in all; each moves one model down and one up."""
        return Work(rounds, visits * local_steps, visits * 2 * num_weights)

    def __add__(self, other: Work) -> Work:
        here = [work.server_steps for work in (self, other) if work.server_steps is not None]
        return Work(
            self.rounds + other.rounds,
            self.client_steps + other.client_steps,
            self.comm_floats + other.comm_floats,
            sum(here[1:], here[0]) if here else None,
        )

    @property
    def at_the_server(self) -> Tensor:
        """Steps at the server, as numbers in any case. [S]"""
        return torch.zeros_like(self.rounds) if self.server_steps is None else self.server_steps


def count_work(segment: Segment, local_steps: int, spares: int = 0, num_models: int = 1) -> Work:
    """The cost of a segment from its own trace; with up to `spares` clients more in each round, as far as there are.

    `num_models`: how many models a row holds side by side; a client trains, and moves, one of them.
    """
    cohort = ((segment.trace.cohort >= 0) & segment.happened()[..., None]).sum(2)  # [S, T]
    waiting = (segment.available.sum(1, keepdim=True) - cohort).clamp(max=spares) * segment.happened()  # [S, T]
    gradients = local_steps * gradients_of(segment.optimiser)
    return Work.of(segment.rounds, (cohort + waiting).sum(1), gradients, segment.start.shape[1] // num_models)
