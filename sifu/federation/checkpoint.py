"""Trainings that go on where a run that was cut off left them.

Each training of a stage has a file of its own, named after everything that its result depends on: a stage that is
run again finds those that were done, or under way, whatever else it does between them, and no stale one. A training
that is done is one without seeds left, so that both are the same kind of file.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from torch import Tensor

from sifu import RULES_VERSION
from sifu.errors import StoreError
from sifu.store.tensors import read_tensors, write_tensors

_SHARE = 100  # writing takes at most one part in so many of the time
_MOST_BYTES = 2**28  # of trainings that are done and not written yet


class State(NamedTuple):
    """A training between two rounds: enough to go on with it elsewhere, to the same bits."""

    numbers: dict[str, Any]  # plain data, such as JSON
    tensors: dict[str, Tensor]  # on the CPU


class Resumable(Protocol):
    """A training as checkpoints see it."""

    count: int  # rounds done

    def identity(self) -> bytes:
        """A digest of all that its result depends on, but for the code."""
        ...

    def state(self) -> State: ...

    def resume(self, state: State) -> None: ...


class Checkpoints:
    """The trainings of a stage that is under way, in `folder`; `made_by` names its code and settings.

    They are written about every `seconds`: so much work can be lost, or a hundred times what writing takes.
    """

    def __init__(self, folder: Path, made_by: str, seconds: float) -> None:
        self.folder, self.made_by, self.seconds = folder, made_by, seconds
        self.due = time.monotonic() + seconds
        self.waiting: dict[Path, State] = {}  # trainings that were done since the last writing
        self.failed = False

    def resume(self, training: Resumable) -> None:
        """Put a training to where it was, if it is known."""
        if not self.folder.is_dir():
            return
        path = self._path(training)
        try:
            state = read_state(path) if path.exists() else None
        except StoreError as error:  # begin at the beginning
            print(f"a checkpoint is passed over: {error}", file=sys.stderr)
            return
        if state is not None:
            training.resume(state)
            print(f"goes on after {training.count} rounds that were done before", file=sys.stderr, flush=True)

    def after_round(self, training: Resumable) -> None:
        if time.monotonic() >= self.due:
            self._write({self._path(training): training.state()})

    def after_training(self, training: Resumable) -> None:
        """Keep what is done; short trainings are written together."""
        self.waiting[self._path(training)] = training.state()
        held = sum(_size(tensor) for state in self.waiting.values() for tensor in state.tensors.values())
        if time.monotonic() >= self.due or held > _MOST_BYTES:
            self._write({})

    def clear(self) -> None:
        """The stage is done: nothing of it is needed any more."""
        self.waiting.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, running: dict[Path, State]) -> None:
        """A disk that is full does not end a training: only what can be gone on from is older."""
        begin = time.monotonic()
        try:
            for path, state in (self.waiting | running).items():
                write_state(path, state)
        except OSError as error:
            if not self.failed:
                print(f"a checkpoint could not be written, the training goes on: {error}", file=sys.stderr)
            self.failed = True
        self.waiting.clear()
        end = time.monotonic()
        self.due = end + max(self.seconds, _SHARE * (end - begin))

    def _path(self, training: Resumable) -> Path:
        """Named after all that the training's result depends on."""
        digest = hashlib.sha256(self.made_by.encode() + training.identity())
        return self.folder / f"{digest.hexdigest()[:32]}.safetensors"


def write_state(path: Path, state: State) -> None:
    """A training that is under way."""
    write_tensors(path, state.tensors, {"rules_version": RULES_VERSION, "state": state.numbers})


def read_state(path: Path) -> State:
    """The training that `write_state` wrote."""
    header, tensors = read_tensors(path)
    return State(header["state"], tensors)


def _size(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()
