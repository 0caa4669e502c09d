"""The one training loop of the suite: rounds of all seeds together, until each has met its stop rule.

Who may take part and when a seed is done are masks over S. Between two looks nothing waits for the device.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from sifu.device import wait_for
from sifu.evaluation import share
from sifu.graph import Recording
from sifu.history import Look, Segment
from sifu.keys import Keys
from sifu.recorder import Recorder
from sifu.stop import Stop
from sifu.types import Status

if TYPE_CHECKING:
    from sifu.engine import Engine

_DROP_SHARE = (
    0.25  # on a GPU finished seeds leave the batch when they are this share of it: a smaller batch has its price
)
Progress = Callable[[int, list[Look], int], None]  # round, looks of this round, seeds still running


class Training:
    """The state of one `Engine.run`: every tensor has a row for each seed, `seeds` are the rows still trained."""

    def __init__(
        self,
        engine: Engine,
        start: Tensor,
        available: Tensor,
        keys: Keys,
        stop: Stop,
        recorder: Recorder,
        progress: Progress | None,
    ) -> None:
        self.engine, self.start, self.available, self.keys = engine, start, available, keys
        self.stop, self.recorder, self.progress = stop, recorder, progress
        self.weights = start.clone()
        num_seeds, device = len(start), start.device
        self.active = start.isfinite().all(1)
        self.diverged = ~self.active
        self.rounds = torch.zeros(num_seeds, dtype=torch.int64, device=device)
        self.seeds = torch.arange(num_seeds, device=device)
        self.status = [Status.DONE if stop.target is None else Status.NOT_REACHED] * num_seeds
        self.next_look = torch.zeros(num_seeds, dtype=torch.int64)
        self.looks: list[Look] = []
        self.number = torch.zeros((), dtype=torch.int64, device=device)  # of the next round, where the device sees it
        self.step = self._recording()
        self.seconds_looking = 0.0

    def finish(self) -> Segment:
        number = next_look = 0
        while True:
            if number == next_look:
                next_look = self._timed_look(number)
            if not len(self.seeds):
                break
            self.step()
            number += 1
            self.recorder.keep(number, self.weights)
        return self.recorder.segment(
            self.start,
            self.weights,
            self.rounds,
            tuple(self.status),
            self.available,
            self.keys.state,
            tuple(self.looks),
        )

    def _recording(self) -> Recording:
        """A round of the seeds in the batch. Poisson cohorts differ in size, which only the host can act on."""
        fixed = self.engine.federation.sampling == "fixed"
        return Recording(self._train, self.start.device, records=fixed)

    def _train(self) -> None:
        """One round of the seeds in the batch; finished ones among them are computed along and not changed."""
        seeds, before = self.seeds, self.weights[self.seeds]
        rounds = self.number.expand(len(seeds))
        result = self.engine.round(before, seeds, rounds, self.available[seeds], self.keys.rows(seeds))
        active = self.active[seeds]
        finite = result.weights.isfinite().all(1)
        goes_on = active & finite
        after = torch.where(goes_on[:, None], result.weights, before)
        self.weights[seeds] = after
        self.diverged[seeds] |= active & ~finite
        self.active[seeds] = goes_on
        self.rounds[seeds] += goes_on
        self.recorder.add(self.number, seeds, before, result.cohort, result.local, after)
        self.number += 1

    def _timed_look(self, number: int) -> int:
        wait_for(self.start.device)  # what was asked before is not the look's
        began = time.perf_counter()
        next_look = self._look(number)
        self.seconds_looking += time.perf_counter() - began
        return next_look

    def _look(self, number: int) -> int:
        """Evaluate the seeds that are due, end those that are done, drop them from the batch. The next look's round.

        Between two looks nothing waits for the device.
        """
        due = torch.nonzero(self.active.cpu() & (self.next_look <= number)).flatten()
        looks = self._evaluate(due, number) if len(due) else []
        for row in torch.nonzero(self.diverged.cpu()).flatten().tolist():
            self.status[row] = Status.DIVERGED
        self._drop_finished()
        active = self.active.cpu()
        if self.progress is not None:
            self.progress(number, looks, int(active.sum()))
        return int(self.next_look[active].min()) if bool(active.any()) else number

    def _evaluate(self, due: Tensor, number: int) -> list[Look]:
        rows, size = due.to(self.weights.device), self.engine.clients.size
        correct = self.engine.evaluator.correct(self.weights[rows], rows)  # [R, C]
        retain = share(correct, size[rows], self.available[rows]).cpu()
        forget = share(correct, size[rows], ~self.available[rows]).cpu()
        accuracy = torch.zeros(len(self.start), dtype=retain.dtype)
        accuracy[due] = retain
        reached = self.stop.reached(accuracy, number)
        over = number >= self.stop.max_rounds
        for row in due.tolist():
            if reached[row]:
                self.status[row] = Status.DONE
        done = due[(reached | over)[due]]
        self.active[done.to(self.active.device)] = False
        self.next_look[due] = self.stop.next_look(accuracy, number)[due]
        looks = [
            Look(row, number, a, None if f != f else f)
            for row, a, f in zip(due.tolist(), retain.tolist(), forget.tolist(), strict=True)
        ]
        self.looks += looks
        return looks

    def _drop_finished(self) -> None:
        running = self.seeds[self.active[self.seeds]]
        finished = len(self.seeds) - len(running)
        if not finished:
            return
        if self.engine.workers is not None or not len(running) or finished >= _DROP_SHARE * len(self.seeds):
            self.seeds = running
            self.step = self._recording()
