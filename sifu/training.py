"""The one training loop of the suite: rounds of all seeds together, until each has met its stop rule.

Who may take part and when a seed is done are masks over S. Between two looks nothing waits for the device
(but for Poisson cohorts, whose size the host must know).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from sifu.device import wait_for
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
        rows: Tensor | None = None,
    ) -> None:
        self.engine, self.start, self.available, self.keys = engine, start, available, keys
        self.stop, self.recorder, self.progress = stop, recorder, progress
        self.weights = start.clone()
        num_seeds, device = len(start), start.device
        self.active = start.isfinite().all(1)
        self.diverged = ~self.active
        self.rounds = torch.zeros(num_seeds, dtype=torch.int64, device=device)
        self.batch = torch.arange(num_seeds)  # the rows that are trained; `seeds`: the same, on the device
        self.seeds = self.batch.to(device)
        self.data = (torch.arange(num_seeds) if rows is None else rows).to(device)  # [S] rows of the clients' data
        self.running = self.active.cpu()  # as of the last look
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
        del self.step  # it holds this object, which holds it: neither would go before a rare collection of garbage
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
        result = self.engine.round(before, self.data[seeds], rounds, self.available[seeds], self.keys.rows(seeds))
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
        """Evaluate the seeds that are due, end those that are done, drop them from the batch. The next look's round."""
        due = torch.nonzero(self.running & (self.next_look <= number)).flatten()
        accuracy, self.running, diverged = self._fetch(due)
        for row in torch.nonzero(diverged).flatten().tolist():
            self.status[row] = Status.DIVERGED
        alive = self.running[due]
        looks = self._judge(due[alive], accuracy[alive], number)
        self._drop_finished()
        if self.progress is not None:
            self.progress(number, looks, int(self.running.sum()))
        return int(self.next_look[self.running].min()) if bool(self.running.any()) else number

    def _fetch(self, due: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Accuracy on those who take part and on the others [R, 2] of the seeds that are `due` [R], and of all seeds
        who is active and who diverged [S]: all in one transfer, which waits for the device.
        """
        rows = due.to(self.start.device)
        accuracy = self.engine.evaluator.accuracy(self.weights[rows], self.data[rows], self.available[rows])  # [R, 2]
        flags = torch.stack([self.active, self.diverged]).double()  # [2, S]
        fetched = torch.cat([accuracy.flatten(), flags.flatten()]).cpu()
        active, diverged = fetched[accuracy.numel() :].view(2, -1).bool()
        return fetched[: accuracy.numel()].view(-1, 2), active, diverged

    def _judge(self, due: Tensor, accuracy: Tensor, number: int) -> list[Look]:
        """End the seeds of `due` [R] that have met their stop rule with `accuracy` [R, 2], plan the others' look."""
        retain = torch.zeros(len(self.start), dtype=accuracy.dtype)
        retain[due] = accuracy[:, 0]
        reached = self.stop.reached(retain, number)
        over = number >= self.stop.max_rounds
        for row in due[reached[due]].tolist():
            self.status[row] = Status.DONE
        done = due[(reached | over)[due]]
        if len(done):
            self.running[done] = False
            self.active[done.to(self.active.device)] = False
        self.next_look[due] = self.stop.next_look(retain, number)[due]
        numbers = zip(due.tolist(), accuracy.tolist(), strict=True)
        looks = [Look(row, number, kept, None if lost != lost else lost) for row, (kept, lost) in numbers]
        self.looks += looks
        return looks

    def _drop_finished(self) -> None:
        running = self.batch[self.running[self.batch]]
        finished = len(self.batch) - len(running)
        if not finished:
            return
        if self.engine.workers is not None or not len(running) or finished >= _DROP_SHARE * len(self.batch):
            self.batch, self.seeds = running, running.to(self.start.device)
            self.step = self._recording()
