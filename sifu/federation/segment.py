"""What a run leaves behind: scalars of every round, sparse snapshots, and from them any model of any round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.core.types import Status


class Look(NamedTuple):
    """One evaluation of one seed."""

    seed_row: int
    round: int
    retain_accuracy: float  # over the clients that take part
    forget_accuracy: float | None  # over the others; None where there are none


@dataclass(frozen=True)
class Trace:
    """The scalars of every round and sampled client; rounds past a seed's own end are padding."""

    cohort: Tensor  # [S, T, m] int64 client numbers, -1: nobody
    distance: Tensor  # [S, T, m] ||theta^{n+1} - theta_c^{n+1}||
    update_norm: Tensor  # [S, T, m] ||theta_c^{n+1} - theta^n||
    layer_norm: Tensor  # [S, T, m, layers] the same, layer by layer
    step_norm: Tensor  # [S, T] ||theta^{n+1} - theta^n||


@dataclass(frozen=True)
class Segment:
    """A stretch of FedAvg rounds: from `start` to `final`, and what is needed to walk it again."""

    start: Tensor  # [S, P]
    final: Tensor  # [S, P]
    rounds: Tensor  # [S] int64: how many rounds each seed took
    status: tuple[Status, ...]  # [S]
    available: Tensor  # [S, C] bool: who could be sampled
    key_state: Tensor  # [S] int64: the stream of its draws
    trace: Trace
    snapshots: Tensor  # [S, Q, P]: the weights after snapshot_every, 2 snapshot_every, ... rounds
    snapshot_every: int
    looks: tuple[Look, ...] = ()

    def nearest_snapshot(self, rounds: Tensor) -> tuple[Tensor, Tensor]:
        """The last kept weights at or before `rounds` [S]: their round [S], and themselves [S, P]."""
        number = rounds // self.snapshot_every  # [S]
        weights, later = self.start.clone(), torch.nonzero(number).flatten()
        weights[later] = self.snapshots[later, number[later] - 1]
        return number * self.snapshot_every, weights

    def snapshot_after(self, number: int) -> Tensor | None:
        """The weights after round `number` (0: the first) if they were kept. [S, P]"""
        kept, rest = divmod(number + 1, self.snapshot_every)
        return self.snapshots[:, kept - 1] if rest == 0 else None

    def part(self, which: slice) -> Segment:
        """Some of the seeds, as if they had been trained alone."""
        rounds = self.rounds[which]
        longest = int(rounds.max()) if len(rounds) else 0
        trace = Trace(*(tensor[which, :longest] for tensor in vars(self.trace).values()))
        first, last, _ = which.indices(len(self.rounds))
        looks = (look for look in self.looks if first <= look.seed_row < last)
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
            tuple(look._replace(seed_row=look.seed_row - first) for look in looks),
        )

    def happened(self) -> Tensor:
        """Which rounds of the trace are a seed's own, not padding. [S, T] bool"""
        return torch.arange(self.trace.cohort.shape[1]) < self.rounds[:, None]


@dataclass(frozen=True)
class Work:
    """The cost of a run, counted by the engine. All [S]."""

    rounds: Tensor
    client_steps: Tensor  # local optimiser steps, over all clients
    comm_floats: Tensor  # floats moved, down and up

    @staticmethod
    def of(rounds: Tensor, visits: Tensor, local_steps: int, num_weights: int) -> Work:
        """`rounds` [S] in which clients were asked `visits` [S] times in all: a model down and one up each time."""
        return Work(rounds, visits * local_steps, visits * 2 * num_weights)

    def __add__(self, other: Work) -> Work:
        return Work(
            self.rounds + other.rounds, self.client_steps + other.client_steps, self.comm_floats + other.comm_floats
        )


def count_work(segment: Segment, local_steps: int) -> Work:
    """The cost of a segment from its own trace."""
    visits = ((segment.trace.cohort >= 0) & segment.happened()[..., None]).sum((1, 2))  # [S]
    return Work.of(segment.rounds, visits, local_steps, segment.start.shape[1])
