"""Trainings of several tasks in one batch: sigma values, or methods and requests that share a training.

A task is ordinary code that asks for trainings one after another, such as a method that answers requests. Tasks take
turns, one at a time; where all of those that are left wait for a training, they get it together. Every row of the
batch is a seed of a task, and its result is what it would be alone (to rounding, where a GPU chooses by size of batch).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.segment import Segment
from sifu.federation.stop import Stop
from sifu.federation.training import Progress

Result = TypeVar("Result")
Runner = Callable[..., Segment]  # `Engine.run`, or something that does the same for several tasks at once


@dataclass
class _Ask:
    """A training that a task waits for."""

    start: Tensor
    available: Tensor
    key_state: Tensor
    stop: Stop
    snapshot_every: int
    segment: Segment | None = None
    error: BaseException | None = None
    answered: threading.Event = field(default_factory=threading.Event)

    @property
    def kind(self) -> tuple[float | None, int, int]:
        """Only trainings of the same kind fit into one batch."""
        return self.stop.target, self.stop.min_rounds, self.snapshot_every


def run_together(
    engine: Engine, tasks: Sequence[Callable[[Runner], Result]], most: int, progress: Progress | None = None
) -> list[Result]:
    """The results of the tasks, `most` of them at a time; each is called with the `Runner` to train with."""
    if most < 2:
        return [task(_shown(engine.run, progress)) for task in tasks]
    results: list[Result] = []
    for first in range(0, len(tasks), most):
        results += _Pack(engine, tasks[first : first + most], progress).finish()
    return results


def _shown(run: Runner, progress: Progress | None) -> Runner:
    """The same with a progress that the task knows nothing of."""
    return lambda *args, **options: run(*args, **(options | {"progress": progress}))


class _Pack(Generic[Result]):
    def __init__(self, engine: Engine, tasks: Sequence[Callable[[Runner], Result]], progress: Progress | None) -> None:
        self.engine, self.tasks, self.progress = engine, tasks, progress
        self.results: list[Result | None] = [None] * len(tasks)
        self.error: BaseException | None = None
        self.turn = threading.Lock()  # held by the one task that runs
        self.changed = threading.Condition()
        self.asks: dict[int, _Ask] = {}
        self.left = len(tasks)

    def finish(self) -> list[Result]:
        threads = [threading.Thread(target=self._work, args=(number,), daemon=True) for number in range(self.left)]
        for thread in threads:
            thread.start()
        while self._all_wait():
            self._answer()
        for thread in threads:
            thread.join()
        if self.error is not None:
            raise self.error
        return self.results  # type: ignore[return-value]

    def _work(self, number: int) -> None:
        """A task, in a thread of its own."""
        with self.turn:
            try:
                self.results[number] = self.tasks[number](lambda *a, **k: self._ask(number, *a, **k))
            except BaseException as error:  # raised again by `finish`
                self.error = self.error or error
        with self.changed:
            self.left -= 1
            self.changed.notify()

    def _ask(
        self, number: int, start: Tensor, available: Tensor, keys: Keys, stop: Stop, *, snapshot_every: int, **_: object
    ) -> Segment:
        """Called by a task: wait until all others wait, too."""
        ask = _Ask(start, available, keys.state, stop, snapshot_every)
        with self.changed:
            self.asks[number] = ask
            self.changed.notify()
        self.turn.release()
        ask.answered.wait()
        self.turn.acquire()
        if ask.error is not None:
            raise ask.error
        assert ask.segment is not None
        return ask.segment

    def _all_wait(self) -> bool:
        """Until every task that is left waits; False: none is left."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.asks) == self.left)
        return self.left > 0

    def _answer(self) -> None:
        """Train for one kind of asks together; those who get their answer run on. After an error nothing is trained."""
        asks = [self.asks[number] for number in sorted(self.asks)]
        chosen = {number: ask for number, ask in sorted(self.asks.items()) if ask.kind == asks[0].kind}
        if self.error is None:
            try:
                segments = run_as_one(self.engine, list(chosen.values()), self.progress)
            except BaseException as error:
                self.error = error
        for place, number in enumerate(chosen):
            ask = self.asks.pop(number)
            ask.segment, ask.error = (segments[place], None) if self.error is None else (None, self.error)
            ask.answered.set()


def run_as_one(engine: Engine, asks: Sequence[_Ask], progress: Progress | None) -> list[Segment]:
    """The segments of several asks from one run."""
    start, available, state = (
        torch.cat([getattr(ask, name) for ask in asks]) for name in ("start", "available", "key_state")
    )
    rounds = torch.cat([ask.stop.max_rounds for ask in asks])
    stop = Stop(asks[0].stop.target, asks[0].stop.min_rounds, rounds)
    counts = [len(ask.start) for ask in asks]
    rows = torch.cat([torch.arange(count) for count in counts])
    segment = engine.run(
        start, available, Keys(state), stop, snapshot_every=asks[0].snapshot_every, progress=progress, rows=rows
    )
    ends = torch.tensor(counts).cumsum(0).tolist()
    return [segment.part(slice(end - count, end)) for count, end in zip(counts, ends, strict=True)]
