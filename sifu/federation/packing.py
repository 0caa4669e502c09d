"""Trainings of several tasks in one batch: several values of sigma, methods or sets of requests.

A task is ordinary code that requests trainings one after another, such as a method that answers requests. Tasks take
turns, one at a time; as soon as all unfinished tasks wait for a training, their trainings run together. Every row of
the batch is a seed of a task, and its result is the same as alone (up to rounding where a GPU chooses by batch size).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from sifu.config.optimiser import Optimiser
from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.segment import Segment
from sifu.federation.stop import Stop
from sifu.federation.training import Progress

Result = TypeVar("Result")
Runner = Callable[..., Segment]  # `Engine.run`, or its replacement for several tasks at once


@dataclass
class _PendingTraining:
    """A training that a task waits for."""

    start: Tensor
    available: Tensor
    key_state: Tensor
    stop: Stop
    snapshot_every: int
    optimiser: Optimiser | None = None
    idle: Tensor | None = None
    segment: Segment | None = None
    error: BaseException | None = None
    finished: threading.Event = field(default_factory=threading.Event)

    @property
    def kind(self) -> tuple[float | None, int, bool, int, Optimiser | None, bool]:
        """Only trainings of the same kind fit into one batch."""
        stop = self.stop
        rule = (stop.target, stop.min_rounds, stop.must_reach)
        return *rule, self.snapshot_every, self.optimiser, self.idle is not None


def run_together(
    engine: Engine, tasks: Sequence[Callable[[Runner], Result]], max_tasks: int, progress: Progress | None = None
) -> list[Result]:
    """The results of the tasks, at most `max_tasks` of them at a time; each is called with the `Runner` to use."""
    if max_tasks < 2:
        return [task(_with_progress(engine.run, progress)) for task in tasks]
    results: list[Result] = []
    for first in range(0, len(tasks), max_tasks):
        results += _Pack(engine, tasks[first : first + max_tasks], progress).finish()
    return results


def _with_progress(run: Runner, progress: Progress | None) -> Runner:
    """`run` that reports to `progress`, which the task does not need to know."""
    return lambda *args, **options: run(*args, **(options | {"progress": progress}))


class _Pack(Generic[Result]):
    """Tasks in threads, of which one runs at a time, and the trainings that they wait for."""

    def __init__(self, engine: Engine, tasks: Sequence[Callable[[Runner], Result]], progress: Progress | None) -> None:
        self.engine, self.tasks, self.progress = engine, tasks, progress
        self.results: list[Result | None] = [None] * len(tasks)
        self.error: BaseException | None = None
        self.turn = threading.Lock()  # held by the one task that runs
        self.changed = threading.Condition()
        self.pending: dict[int, _PendingTraining] = {}
        self.unfinished = len(tasks)

    def finish(self) -> list[Result]:
        numbers = range(len(self.tasks))
        threads = [threading.Thread(target=self._work, args=(number,), daemon=True) for number in numbers]
        for thread in threads:
            thread.start()
        while self._all_wait():
            self._train()
        for thread in threads:
            thread.join()
        if self.error is not None:
            raise self.error
        return self.results  # type: ignore[return-value]

    def _work(self, number: int) -> None:
        """Run a task, in its own thread."""
        with self.turn:
            try:
                self.results[number] = self.tasks[number](lambda *a, **k: self._request(number, *a, **k))
            except BaseException as error:  # raised again by `finish`
                self.error = self.error or error
        with self.changed:
            self.unfinished -= 1
            self.changed.notify()

    def _request(
        self,
        number: int,
        start: Tensor,
        available: Tensor,
        keys: Keys,
        stop: Stop,
        *,
        snapshot_every: int,
        optimiser: Optimiser | None = None,
        idle: Tensor | None = None,
        **_: object,
    ) -> Segment:
        """Called by a task: request a training and wait for it. It runs once all other tasks wait, too."""
        training = _PendingTraining(start, available, keys.state, stop, snapshot_every, optimiser, idle)
        with self.changed:
            self.pending[number] = training
            self.changed.notify()
        self.turn.release()
        training.finished.wait()
        self.turn.acquire()
        if training.error is not None:
            raise training.error
        assert training.segment is not None
        return training.segment

    def _all_wait(self) -> bool:
        """Block until every unfinished task waits for a training; False when all tasks are finished."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.pending) == self.unfinished)
        return self.unfinished > 0

    def _train(self) -> None:
        """Run the pending trainings of one kind together and wake their tasks. After an error nothing is trained."""
        kind = self.pending[min(self.pending)].kind
        chosen = {number: training for number, training in sorted(self.pending.items()) if training.kind == kind}
        if self.error is None:
            try:
                segments = run_as_one(self.engine, list(chosen.values()), self.progress)
            except BaseException as error:
                self.error = error
        for index, number in enumerate(chosen):
            training = self.pending.pop(number)
            training.segment, training.error = (segments[index], None) if self.error is None else (None, self.error)
            training.finished.set()


def run_as_one(engine: Engine, trainings: Sequence[_PendingTraining], progress: Progress | None) -> list[Segment]:
    """The segments of several trainings of the same kind, from one run."""
    first = trainings[0]
    start, available, state = (
        torch.cat([getattr(training, name) for training in trainings]) for name in ("start", "available", "key_state")
    )
    stop = first.stop.joined([training.stop for training in trainings])
    counts = [len(training.start) for training in trainings]
    rows = torch.cat([torch.arange(count) for count in counts])
    idle = torch.cat([one.idle for one in trainings if one.idle is not None]) if first.idle is not None else None
    options: dict[str, Any] = {"snapshot_every": first.snapshot_every, "progress": progress, "rows": rows}
    segment = engine.using(first.optimiser).run(start, available, Keys(state), stop, **options, idle=idle)
    ends = torch.tensor(counts).cumsum(0).tolist()
    return [segment.part(slice(end - count, end)) for count, end in zip(counts, ends, strict=True)]
