"""Rounds that trainings share: those from the same start, with the same clients and keys, differ in their stop alone.

A budget ends a recovery after some rounds, the target accuracy after others. The rounds that both have are trained
once: the later training goes on from a snapshot of the earlier one. With the same target it has the earlier one's
evaluations; without a target its evaluations are made of models that the earlier one kept for that. So the segment has
the bits of a training from the start.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from sifu.core.types import Status
from sifu.federation.checkpoint import State
from sifu.federation.recorder import to_host
from sifu.federation.segment import Evaluation, Segment, Trace
from sifu.federation.stop import Stop
from sifu.federation.training import Training

_EVERY = 20  # rounds between evaluations of a training without a target (those of `rare` ones are a multiple of it)
_MAX_BYTES = 2**32  # of models kept; the trainings that began first are dropped


@dataclass
class _Earlier:
    """A training so far: its segment once it has ended, and the models after every `_EVERY` rounds."""

    models: list[Tensor] = field(default_factory=list)  # [S, P] each, on the host
    segment: Segment | None = None
    stop: Stop | None = None

    @property
    def bytes(self) -> int:
        return sum(model.nbytes for model in self.models)


class SharedRounds:
    """The trainings of a stage so far, by what their rounds depend on."""

    def __init__(self) -> None:
        self._ended: dict[bytes, _Earlier] = {}
        self._now: _Earlier | None = None  # of the training under way; None: its first rounds are not known

    def begin(self, training: Training) -> None:
        """Let a training go on from the rounds that an earlier one had, if it knows its own evaluations of them."""
        self._now = _Earlier() if training.count == 0 else None  # after a checkpoint, earlier models are missing
        earlier = self._ended.get(_identity(training))
        if earlier is None or training.count:
            return
        state = _shared_state(training, earlier)
        if state is not None:
            training.resume(state)
            self._now = _Earlier(earlier.models[: training.count // _EVERY])

    def after_round(self, training: Training) -> None:
        if self._now is not None and training.count % _EVERY == 0:
            self._now.models.append(to_host(training.weights))

    def end(self, training: Training, segment: Segment) -> None:
        """Keep a training that has ended, unless the one that is kept is longer."""
        now, name = self._now, _identity(training)
        self._now = None
        if now is None or any(status == Status.DIVERGED for status in segment.status):
            return
        known = self._ended.get(name)
        if (
            known is not None
            and known.segment is not None
            and int(known.segment.rounds.min()) >= int(segment.rounds.min())
        ):
            return
        now.segment, now.stop = segment, training.stop
        self._ended[name] = now
        while sum(earlier.bytes for earlier in self._ended.values()) > _MAX_BYTES:
            del self._ended[next(iter(self._ended))]


def _identity(training: Training) -> bytes:
    """A digest of all that a training's rounds depend on, except code and settings: these are the stage's."""
    digest = hashlib.sha256(str(training.engine.optimiser).encode())
    for part in (training.start, training.available, training.sampled, training.keys.state, training.data):
        digest.update(part.cpu().contiguous().numpy().tobytes())
    return digest.digest()


def _shared_state(training: Training, earlier: _Earlier) -> State | None:
    """A training after the rounds that it shares with an earlier one, up to a snapshot; None: there are none."""
    stop, segment, every = training.stop, earlier.segment, training.recorder.snapshot_every
    if segment is None or segment.snapshot_every != every:
        return None
    count = int(stop.max_rounds.minimum(segment.rounds).min()) // every * every
    evaluate = _evaluate if stop.target is None else _as_evaluated
    evaluated = evaluate(training, earlier, count) if count else None
    if evaluated is None:
        return None
    evaluations, best, due = evaluated
    numbers = {
        "count": count,
        "evaluate_at": int(due.min()),
        "status": list(training.status),
        "evaluations": evaluations,
    }
    tensors = {
        "weights": segment.snapshots[:, count // every - 1],
        "active": training.active,
        "diverged": training.diverged,
        "rounds": torch.full_like(training.rounds, count),
        "batch": training.batch,
        "running": training.running,
        "best": best,
        "next_evaluation": due,
    }
    return State(numbers, tensors | _recorded(training, segment, count))


def _recorded(training: Training, segment: Segment, count: int) -> dict[str, Tensor]:
    """What a recorder has after `count` rounds of a segment, as `Recorder.state` names it."""
    every = segment.snapshot_every
    named = {f"recent.{name}": part for name, part in vars(training.recorder.recent).items()}  # still empty
    for index in range(count // every):
        chunk = slice(index * every, (index + 1) * every)
        parts = Trace(*(part[:, chunk].transpose(0, 1) for part in vars(segment.trace).values()))
        named |= {f"earlier.{index}.{name}": part for name, part in vars(parts).items()}
        named[f"snapshots.{index}"] = segment.snapshots[:, index]
    return named


Evaluated = tuple[list[Evaluation], Tensor, Tensor]  # evaluations, the best accuracy [S], when a seed is due next [S]


def _as_evaluated(training: Training, earlier: _Earlier, count: int) -> Evaluated | None:
    """The evaluations before round `count` that an earlier training had; None where its target was another one."""
    stop, other = training.stop, earlier.stop
    if earlier.segment is None or other is None or not _same_target(stop, other):
        return None
    evaluations = [one for one in earlier.segment.evaluations if one.round < count]
    best, due = torch.zeros_like(training.best), training.next_evaluation.clone()
    for row, number, retain, _ in evaluations:
        best[row] = max(float(best[row]), retain)
        due[row] = stop.next_evaluation(torch.full_like(best, retain), best, number)[row]
    return evaluations, best, due


def _same_target(one: Stop, other: Stop) -> bool:
    """Whether seeds that run under both rules are evaluated after the same rounds."""
    targets = [(rule.target, rule.schedule) for rule in (one, other)]
    return targets[0] == targets[1] and torch.equal(one.least, other.least) and _same_counts(one, other)


def _same_counts(one: Stop, other: Stop) -> bool:
    """Whether as many rounds are said to be done before."""
    counts = [torch.zeros_like(rule.max_rounds) if rule.counted is None else rule.counted for rule in (one, other)]
    return torch.equal(*counts)


def _evaluate(training: Training, earlier: _Earlier, count: int) -> Evaluated | None:
    """The evaluations before round `count`, the best accuracy [S] of them, and when each seed is next due [S].

    None where the model of an evaluation was not kept.
    """
    evaluations: list[Evaluation] = []
    best, due, number = torch.zeros_like(training.best), training.next_evaluation, 0
    while number < count:
        kept, rest = divmod(number, _EVERY)
        if rest or kept > len(earlier.models):
            return None
        weights = training.start if number == 0 else earlier.models[kept - 1].to(training.start.device)
        accuracy = training.evaluator.accuracy(weights, training.data, training.available).cpu()  # [S, 2]
        for row, (retain, forget) in enumerate(accuracy.tolist()):
            evaluations.append(Evaluation(row, number, retain, None if math.isnan(forget) else forget))
        best = best.maximum(accuracy[:, 0])
        due = training.stop.next_evaluation(accuracy[:, 0], best, number)
        number = int(due.min())
    return evaluations, best, due
