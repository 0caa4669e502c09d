"""The one training loop of the suite: rounds of all seeds together, until each has met its stop rule.

Who may take part and when a seed is done are masks over S. Between two looks nothing waits for the device
(but for Poisson cohorts, whose size the host must know), and on a GPU not even a look does: the next round is under way
while accuracy is counted beside it, and is taken back for the seeds that turn out to have been done before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.core.types import Status
from sifu.federation.checkpoint import Checkpoints, State
from sifu.federation.recorder import Recorder
from sifu.federation.rounds import Rounds
from sifu.federation.segment import Look, Segment
from sifu.federation.stop import Stop
from sifu.hardware.cuda_graph import Recording
from sifu.hardware.side_stream import Aside

_DROP_SHARE = (
    0.25  # on a GPU finished seeds leave the batch when they are this share of it: a smaller batch has its price
)
Progress = Callable[[int, list[Look], int], None]  # round, looks of this round, seeds still running


def runs_ahead(device: torch.device) -> bool:
    """Whether a round begins before the look after the last one is answered."""
    return device.type == "cuda"


class Asked(NamedTuple):
    """A look that is under way: after which round, at which rows, and the training's state of then."""

    number: int
    due: Tensor  # [R]
    weights: Tensor  # [S, P]
    rounds: Tensor  # [S]
    diverged: Tensor  # [S]
    answer: Callable[[], Tensor]  # waits: accuracies [R, 2], then who is active and who diverged [2, S], all in a row


_CHANGED = ("weights", "active", "diverged", "rounds")  # by rounds, on the device
_PLANNED = ("batch", "running", "next_look")  # by looks, on the host


class Training:
    """The state of one `Engine.run`: every tensor has a row for each seed, `seeds` are the rows still trained."""

    def __init__(
        self,
        engine: Rounds,
        start: Tensor,
        available: Tensor,
        keys: Keys,
        stop: Stop,
        recorder: Recorder,
        progress: Progress | None,
        rows: Tensor | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.engine, self.start, self.available, self.keys = engine, start, available, keys
        self.stop, self.recorder, self.progress, self.evaluator = stop, recorder, progress, engine.evaluator
        self.checkpoints = checkpoints
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
        self.count = self.look_at = 0  # rounds done; after how many of them the next look is due
        self.number = torch.zeros((), dtype=torch.int64, device=device)  # of the next round, where the device sees it
        self.step = self._recording()
        self.aside = Aside(device)
        self.sent = torch.empty(2, num_seeds, dtype=torch.int64, pin_memory=device.type == "cuda")
        self.ahead = runs_ahead(device)

    def finish(self) -> Segment:
        while len(self.seeds):
            look = self._ask(self.count) if self.count == self.look_at else None
            begun = look is not None and self.ahead
            if begun:
                self.step()
            if look is not None:
                self.look_at = self._answer(look)
            if not len(self.seeds):
                break
            if not begun:
                self.step()
            self.count += 1
            self.recorder.keep(self.count, self.weights)
            if self.checkpoints is not None:
                self.checkpoints.after_round(self)
        if self.checkpoints is not None:
            self.checkpoints.after_training(self)
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

    def identity(self) -> bytes:
        """A digest of all that the result depends on, but for the code."""
        engine, stop = self.engine, self.stop
        words = (engine.model.module, engine.federation, stop.target, stop.min_rounds, self.recorder.snapshot_every)
        digest = hashlib.sha256("\0".join(map(str, words)).encode() + engine.clients.fingerprint)
        for part in (self.start, self.available, self.keys.state, self.data, stop.max_rounds):
            digest.update(part.cpu().contiguous().numpy().tobytes())
        return digest.digest()

    def state(self) -> State:
        """Where it is, between two rounds."""
        numbers = {"count": self.count, "look_at": self.look_at, "status": list(self.status), "looks": list(self.looks)}
        tensors = {name: getattr(self, name).to("cpu", copy=True) for name in (*_CHANGED, *_PLANNED)}  # waits, if a GPU
        return State(numbers, tensors | self.recorder.state())

    def resume(self, state: State) -> None:
        """Be where `state` was."""
        numbers, tensors = state
        self.count, self.look_at = numbers["count"], numbers["look_at"]
        self.status = [Status(name) for name in numbers["status"]]
        self.looks = [Look(*look) for look in numbers["looks"]]
        for name in _CHANGED:
            getattr(self, name).copy_(tensors[name])
        for name in _PLANNED:
            setattr(self, name, tensors[name])
        self.seeds = self.batch.to(self.start.device)
        self.number.fill_(self.count)
        self.recorder.resume(self.count, tensors)
        self.step = self._recording()

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

    def _ask(self, number: int) -> Asked:
        """Begin to evaluate the seeds that are due after round `number`."""
        due = torch.nonzero(self.running & (self.next_look <= number)).flatten()
        weights, rounds, diverged = self.weights.clone(), self.rounds.clone(), self.diverged.clone()
        flags = torch.stack([self.active, diverged]).double()  # [2, S]
        rows = self._there(due, 0)

        def evaluate() -> Tensor:
            """Accuracy on those who take part and on the others, and the flags: all in one transfer."""
            data, available = self.data[rows], self.available[rows]
            accuracy = self.evaluator.accuracy(weights[rows], data, available)  # [R, 2]
            return torch.cat([accuracy.flatten(), flags.flatten()])

        return Asked(number, due, weights, rounds, diverged, self.aside.run(evaluate))

    def _answer(self, look: Asked) -> int:
        """End the seeds that are done, drop them from the batch. The next look's round."""
        number, due = look.number, look.due
        fetched = look.answer()
        accuracy = fetched[: 2 * len(due)].view(-1, 2)
        self.running, diverged = fetched[2 * len(due) :].view(2, -1).bool()
        for row in torch.nonzero(diverged).flatten().tolist():
            self.status[row] = Status.DIVERGED
        alive = self.running[due]
        looks, done = self._judge(due[alive], accuracy[alive], number)
        if len(done):
            self._end(self._there(done, 1), look)
        self._drop_finished()
        if self.progress is not None:
            self.progress(number, looks, int(self.running.sum()))
        return int(self.next_look[self.running].min()) if bool(self.running.any()) else number

    def _there(self, rows: Tensor, place: int) -> Tensor:
        """On the training's device, without waiting for it: a look later at the latest, it has read the `place`."""
        if self.start.device.type == "cpu":
            return rows
        sent = self.sent[place, : len(rows)]
        sent.copy_(rows)
        return sent.to(self.start.device, non_blocking=True)

    def _judge(self, due: Tensor, accuracy: Tensor, number: int) -> tuple[list[Look], Tensor]:
        """The looks at `due` [R] with `accuracy` [R, 2], and those of them that have met their stop rule; the others'
        next look is planned.
        """
        retain = torch.zeros(len(self.start), dtype=accuracy.dtype)
        retain[due] = accuracy[:, 0]
        reached = self.stop.reached(retain, number)
        over = number >= self.stop.max_rounds
        for row in due[reached[due]].tolist():
            self.status[row] = Status.DONE
        done = due[(reached | over)[due]]
        self.running[done] = False
        self.next_look[due] = self.stop.next_look(retain, number)[due]
        numbers = zip(due.tolist(), accuracy.tolist(), strict=True)
        looks = [Look(row, number, kept, None if lost != lost else lost) for row, (kept, lost) in numbers]
        self.looks += looks
        return looks, done

    def _end(self, done: Tensor, look: Asked) -> None:
        """The seeds `done` [D] are as they were when the look was asked for: a round begun since has not been."""
        self.active[done] = False
        self.weights[done] = look.weights[done]
        self.rounds[done] = look.rounds[done]
        self.diverged[done] = look.diverged[done]

    def _drop_finished(self) -> None:
        running = self.batch[self.running[self.batch]]
        finished = len(self.batch) - len(running)
        if not finished:
            return
        if self.engine.workers is not None or not len(running) or finished >= _DROP_SHARE * len(self.batch):
            self.batch, self.seeds = running, running.to(self.start.device)
            self.step = self._recording()
