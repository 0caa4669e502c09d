"""A branch of the lineage, and its rounds trained again: what clients sent in them.

A server would have stored the updates; here they are trained again, and cached while there is room.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from sifu.certificate.sensitivity import sampled
from sifu.federation.engine import Engine
from sifu.federation.replay_check import ReplayCheck
from sifu.federation.rounds import Round
from sifu.federation.segment import Segment
from sifu.hardware.upload import upload
from sifu.unlearning.past_round import PastRound, train_again
from sifu.unlearning.replay_cache import ReplayCache


@dataclass(frozen=True)
class Branch:
    """A segment of the lineage, and how much of it is still part of the lineage."""

    engine: Engine
    number: int  # 0: the training, u: the recovery of request u
    segment: Segment
    kept: Tensor  # [S] int64: its rounds that are still part of the lineage; -1: not even its start
    cache: ReplayCache  # shared by all branches

    @property
    def start(self) -> Tensor:
        """The model that it begins with. [S, P]"""
        return self.segment.start.to(self.engine.clients.images.device)

    def sent(self, remain: Tensor) -> Iterator[tuple[PastRound, Tensor, Tensor]]:
        """For each round the past round with only the clients `remain` [S, C], the model that it began with [S, P], and
        the weights that each client sent [S, m, P]; those of other places mean nothing.

        Where the next model is kept as a snapshot, the forgotten clients are not trained at all. The host waits for a
        GPU only once in many rounds: other data than the history's are noticed by the end of the branch, not in the
        round.
        """
        weights, check = self.start, ReplayCheck()
        for number in range(int(self.kept.max())):
            past = PastRound.of(self.segment, self.number, number, self.kept)
            snapshot = self.segment.snapshot_after(number)
            if snapshot is None:
                again = partial(self._train, weights, past, check)
                result = self.cache.round(self.segment, number, past.cohort, again)
            else:
                result = self._train(weights, past.only(remain), check)
            yield past.hide(~remain) if snapshot is None else past.only(remain), weights, result.local
            if snapshot is None:
                weights = result.weights
            else:
                happened = upload(past.happened, weights.device)[:, None]  # [S, 1]
                weights = torch.where(happened, upload(snapshot, weights.device), weights)
        check.finish()

    def first_round(self, remain: Tensor) -> Tensor:
        """The mean of the models that the clients `remain` [S, C] sent in the first round; else the start. [S, P]"""
        if not self.segment.trace.cohort.shape[1]:
            return self.start
        past = PastRound.of(self.segment, self.number, 0, self.kept)
        return self._train(self.start, past.only(remain)).weights

    def last_round(self, remain: Tensor) -> Tensor:
        """The mean of the models that the clients `remain` [S, C] sent in the last round that any of them took part in;
        the start where there was none. [S, P]
        """
        cohort = self.segment.trace.cohort
        if not cohort.shape[1]:
            return self.start
        number = torch.arange(1, cohort.shape[1] + 1)
        took_part = sampled(remain, cohort).any(2) & (number <= self.kept[:, None])  # [S, T]
        last = torch.where(took_part, number, 0).amax(1)  # [S] rounds up to it; 0: none
        past = PastRound.last(self.segment, last).only(remain)
        weights = self.engine.replay(self.segment, (last - 1).clamp(min=0))
        local = self._train(weights, past).local
        return self.engine.weighted_mean(weights, local, past.cohort.to(weights.device))

    def _train(self, weights: Tensor, past: PastRound, check: ReplayCheck | None = None) -> Round:
        """Train a past round again, or some of its clients; each must move as far as it did then.

        `check` compares that later, with those of other rounds; None: at once.
        """
        result, rows = train_again(self.engine, weights, past), past.rows  # other rows may hold NaN
        at, recorded = upload(rows, weights.device), past.norm.where(past.cohort >= 0, 0.0)[rows]
        (check or ReplayCheck(rounds=1)).add(weights[at], result.local[at], recorded)
        return result
