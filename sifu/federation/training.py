"""The one training loop of the suite: rounds of all seeds together, until each seed has met its stop rule.

Masks over S say who may take part and which seeds are done. Between two evaluations the host does not wait for the
device (except for Poisson cohorts, whose size the host must know). On a GPU an evaluation does not wait either: the
next round already runs while accuracy is computed, and is undone for the seeds that had met their stop rule before it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.core.types import Status
from sifu.federation.checkpoint import Checkpoints, State
from sifu.federation.recorder import Recorder
from sifu.federation.rounds import Rounds
from sifu.federation.segment import Evaluation, Segment
from sifu.federation.stop import Stop
from sifu.hardware.cuda_graph import Recording
from sifu.hardware.side_stream import SideStream

# On a GPU finished seeds are removed when they are this share of the batch: a smaller batch must be recorded again.
_DROP_SHARE = 0.25
# Norms of larger models, of which certificates are made, overflow in float32 while each weight is still finite.
_LARGEST_NORM = 1e18
Progress = Callable[[int, list[Evaluation], int], None]  # round, its evaluations, seeds still running


def runs_ahead(device: torch.device) -> bool:
    """Whether a round starts before the evaluation of the previous one has finished."""
    return device.type == "cuda"


class PendingEvaluation(NamedTuple):
    """An evaluation that has been started, and a copy of the training's state at that time."""

    number: int  # rounds done
    due: Tensor  # [R] the rows that are evaluated
    weights: Tensor  # [S, P]
    rounds: Tensor  # [S]
    diverged: Tensor  # [S]
    fetch: Callable[[], Tensor]  # waits; accuracies [R, 2], then the flags active and diverged [2, S], flattened


_CHANGED_BY_ROUNDS = ("weights", "active", "diverged", "rounds")  # on the device
_CHANGED_BY_EVALUATIONS = ("batch", "running", "best", "next_evaluation")  # on the host


class Training:
    """The state of one `Engine.run`. Every tensor has a row per seed; `seeds` are the rows that are still trained."""

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
        idle: Tensor | None = None,
        after_round: Callable[[Training], None] | None = None,
    ) -> None:
        self.sampled = available if idle is None else available & ~idle  # [S, C]
        self.engine, self.start, self.available, self.keys = engine, start, available, keys
        self.stop, self.recorder, self.progress, self.evaluator = stop, recorder, progress, engine.evaluator
        self.checkpoints, self.after_round = checkpoints, after_round
        self.weights = start.clone()
        num_seeds, device = len(start), start.device
        self.active = start.isfinite().all(1)
        self.diverged = ~self.active
        self.rounds = torch.zeros(num_seeds, dtype=torch.int64, device=device)
        self.batch = torch.arange(num_seeds)  # the rows that are trained; `seeds` is its copy on the device
        self.seeds = self.batch.to(device)
        self.data = (torch.arange(num_seeds) if rows is None else rows).to(device)  # [S] rows of the clients' data
        self.running = self.active.cpu()  # as of the last evaluation
        self.status = [Status.NOT_REACHED if stop.must_reach else Status.DONE] * num_seeds
        self.best = torch.zeros(num_seeds, dtype=torch.float64)  # [S] accuracy on the available clients so far
        self.next_evaluation = torch.zeros(num_seeds, dtype=torch.int64)  # [S] in rounds done
        self.evaluations: list[Evaluation] = []
        self.count = self.evaluate_at = 0  # rounds done; rounds done when the next evaluation of any seed is due
        self.number = torch.zeros((), dtype=torch.int64, device=device)  # of the next round; recorded rounds read it
        self.step = self._recording()
        self.side_stream = SideStream(device)
        self.pinned = torch.empty(2, num_seeds, dtype=torch.int64, pin_memory=device.type == "cuda")
        self.ahead = runs_ahead(device)

    def finish(self) -> Segment:
        """Train until every seed has met its stop rule. The history of the training."""
        while len(self.seeds):
            pending = self._start_evaluation(self.count) if self.count == self.evaluate_at else None
            already_run = pending is not None and self.ahead
            if already_run:
                self.step()
            if pending is not None:
                self.evaluate_at = self._finish_evaluation(pending)
            if not len(self.seeds):
                break
            if not already_run:
                self.step()
            self.count += 1
            self.recorder.keep(self.count, self.weights)
            if self.after_round is not None:
                self.after_round(self)
            if self.checkpoints is not None:
                self.checkpoints.after_round(self)
        if self.checkpoints is not None:
            self.checkpoints.after_training(self)
        del self.step  # a reference cycle: without this, memory is freed only at the next garbage collection
        return self.recorder.segment(
            self.start,
            self.weights,
            self.rounds,
            tuple(self.status),
            self.available,
            self.keys.state,
            tuple(self.evaluations),
        )

    def identity(self) -> bytes:
        """A digest of all that the result depends on, except the code."""
        engine, stop = self.engine, self.stop
        rule = (stop.target, stop.min_rounds, stop.schedule, stop.must_reach)
        kept = (type(self.recorder).__name__, self.recorder.snapshot_every)
        settings = (engine.model.module, engine.federation, *rule, *kept, *engine.own_settings)
        digest = hashlib.sha256("\0".join(map(str, settings)).encode() + engine.clients.fingerprint)
        for part in (self.start, self.available, self.keys.state, self.data, stop.max_rounds, stop.least):
            digest.update(part.cpu().contiguous().numpy().tobytes())
        if self.sampled is not self.available:
            digest.update(self.sampled.cpu().contiguous().numpy().tobytes())
        return digest.digest()

    def state(self) -> State:
        """The state between two rounds, for a checkpoint."""
        numbers = {
            "count": self.count,
            "evaluate_at": self.evaluate_at,
            "status": list(self.status),
            "evaluations": list(self.evaluations),
        }
        names = (*_CHANGED_BY_ROUNDS, *_CHANGED_BY_EVALUATIONS)
        tensors = {name: getattr(self, name).to("cpu", copy=True) for name in names}  # waits for a GPU
        return State(numbers, tensors | self.recorder.state())

    def resume(self, state: State) -> None:
        """Continue from `state`."""
        numbers, tensors = state
        self.count, self.evaluate_at = numbers["count"], numbers["evaluate_at"]
        self.status = [Status(name) for name in numbers["status"]]
        self.evaluations = [Evaluation(*values) for values in numbers["evaluations"]]
        for name in _CHANGED_BY_ROUNDS:
            getattr(self, name).copy_(tensors[name])
        for name in _CHANGED_BY_EVALUATIONS:
            setattr(self, name, tensors[name])
        self.seeds = self.batch.to(self.start.device)
        self.number.fill_(self.count)
        self.recorder.resume(self.count, tensors)
        self.step = self._recording()

    def _recording(self) -> Recording:
        """A round of the seeds in the batch. Poisson cohorts vary in size, so they cannot be recorded."""
        fixed = self.engine.federation.sampling == "fixed"
        return Recording(self._train, self.start.device, records=fixed)

    def _train(self) -> None:
        """One round of the seeds in the batch; finished seeds are computed too, but not changed."""
        seeds, before = self.seeds, self.weights[self.seeds]
        rounds = self.number.expand(len(seeds))
        result = self.engine.round(before, self.data[seeds], rounds, self.sampled[seeds], self.keys.rows(seeds))
        active = self.active[seeds]
        finite = torch.linalg.vector_norm(result.weights, dim=1) <= _LARGEST_NORM  # no for one that is not a number
        goes_on = active & finite
        after = torch.where(goes_on[:, None], result.weights, before)
        self.weights[seeds] = after
        self.diverged[seeds] |= active & ~finite
        self.active[seeds] = goes_on
        self.rounds[seeds] += goes_on
        self.recorder.add(self.number, seeds, before, result.cohort, result.local, after)
        self.number += 1

    def _start_evaluation(self, number: int) -> PendingEvaluation:
        """Start to evaluate the seeds that are due after `number` rounds."""
        due = torch.nonzero(self.running & (self.next_evaluation <= number)).flatten()
        weights, rounds, diverged = self.weights.clone(), self.rounds.clone(), self.diverged.clone()
        flags = torch.stack([self.active, diverged]).double()  # [2, S]
        rows = self._to_device(due, 0)

        def evaluate() -> Tensor:
            """Accuracy on the available and on the other clients, and the flags: all in one transfer."""
            data, available = self.data[rows], self.available[rows]
            accuracy = self.evaluator.accuracy(weights[rows], data, available)  # [R, 2]
            return torch.cat([accuracy.flatten(), flags.flatten()])

        return PendingEvaluation(number, due, weights, rounds, diverged, self.side_stream.run(evaluate))

    def _finish_evaluation(self, pending: PendingEvaluation) -> int:
        """Stop the seeds that are done and drop them from the batch. Returns when the next evaluation is due."""
        number, due = pending.number, pending.due
        fetched = pending.fetch()
        accuracy = fetched[: 2 * len(due)].view(-1, 2)
        self.running, diverged = fetched[2 * len(due) :].view(2, -1).bool()
        for row in torch.nonzero(diverged).flatten().tolist():
            self.status[row] = Status.DIVERGED
        alive = self.running[due]
        evaluations, done = self._apply_stop_rule(due[alive], accuracy[alive], number)
        if len(done):
            self._stop_seeds(self._to_device(done, 1), pending)
        self._drop_finished()
        if self.progress is not None:
            self.progress(number, evaluations, int(self.running.sum()))
        return int(self.next_evaluation[self.running].min()) if bool(self.running.any()) else number

    def _to_device(self, rows: Tensor, slot: int) -> Tensor:
        """Rows on the training's device, without waiting: the pinned `slot` is free again by the next evaluation."""
        if self.start.device.type == "cpu":
            return rows
        buffer = self.pinned[slot, : len(rows)]
        buffer.copy_(rows)
        return buffer.to(self.start.device, non_blocking=True)

    def _apply_stop_rule(self, due: Tensor, accuracy: Tensor, number: int) -> tuple[list[Evaluation], Tensor]:
        """The evaluations of the seeds `due` [R] with `accuracy` [R, 2], and the seeds that have met their stop rule.

        Also sets when each of `due` is evaluated next.
        """
        retain = torch.zeros(len(self.start), dtype=accuracy.dtype)
        retain[due] = accuracy[:, 0]
        reached = self.stop.reached(retain, number)
        over = number >= self.stop.max_rounds
        for row in due[reached[due]].tolist():
            self.status[row] = Status.DONE
        done = due[(reached | over)[due]]
        self.running[done] = False
        self.best = self.best.maximum(retain)
        self.next_evaluation[due] = self.stop.next_evaluation(retain, self.best, number)[due]
        numbers = zip(due.tolist(), accuracy.tolist(), strict=True)
        evaluations = [
            Evaluation(row, number, on_retain, None if math.isnan(on_forget) else on_forget)
            for row, (on_retain, on_forget) in numbers
        ]
        self.evaluations += evaluations
        return evaluations, done

    def _stop_seeds(self, done: Tensor, pending: PendingEvaluation) -> None:
        """Freeze the seeds `done` [D] as they were when the evaluation started: undo a round that began since."""
        self.active[done] = False
        self.weights[done] = pending.weights[done]
        self.rounds[done] = pending.rounds[done]
        self.diverged[done] = pending.diverged[done]

    def _drop_finished(self) -> None:
        running = self.batch[self.running[self.batch]]
        finished = len(self.batch) - len(running)
        if not finished:
            return
        if self.engine.workers is not None or not len(running) or finished >= _DROP_SHARE * len(self.batch):
            self.batch, self.seeds = running, running.to(self.start.device)
            self.step = self._recording()
