"""Resume points: a stage that was interrupted continues its trainings where they were.

Each training of a stage has its own file. Its name is a digest of all that the result depends on, so a stage that runs
again finds its finished and its unfinished trainings, and never a stale one. A finished training is stored as one
without running seeds, so both kinds have the same format.
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

_WRITING_SHARE = 100  # writing takes at most one hundredth of the time
_MAX_WAITING_BYTES = 2**28  # of finished trainings that are not written yet


class State(NamedTuple):
    """A training between two rounds: enough to continue it in another process, to the same bits."""

    numbers: dict[str, Any]  # what JSON can hold
    tensors: dict[str, Tensor]  # on the CPU


class Resumable(Protocol):
    """What checkpoints need of a training."""

    count: int  # rounds done

    def identity(self) -> bytes:
        """A digest of all that its result depends on, except the code."""
        ...

    def state(self) -> State: ...

    def resume(self, state: State) -> None: ...


class Checkpoints:
    """The saved trainings of a running stage, in `folder`; `made_by` names its code and settings.

    They are written every `seconds`, or every hundred times the time of writing if that is longer.
    """

    def __init__(self, folder: Path, made_by: str, seconds: float) -> None:
        self.folder, self.made_by, self.seconds = folder, made_by, seconds
        self.due = time.monotonic() + seconds
        self.waiting: dict[Path, State] = {}  # trainings finished since the last writing
        self.failed = False

    def resume(self, training: Resumable) -> None:
        """Continue a training from its checkpoint, if there is one."""
        if not self.folder.is_dir():
            return
        path = self._path(training)
        try:
            state = read_state(path) if path.exists() else None
        except StoreError as error:  # start from the first round
            print(f"a checkpoint is ignored: {error}", file=sys.stderr)
            return
        if state is not None:
            try:
                training.resume(state)
            except (LookupError, TypeError, ValueError, RuntimeError) as error:  # of another training: half is changed
                raise StoreError(f"{path} is not a checkpoint of this training ({error}): delete it") from None
            print(f"resumes after {training.count} rounds", file=sys.stderr, flush=True)

    def after_round(self, training: Resumable) -> None:
        if time.monotonic() >= self.due:
            self._write({self._path(training): training.state()})

    def after_training(self, training: Resumable) -> None:
        """Keep a finished training; short ones are written together."""
        self.waiting[self._path(training)] = training.state()
        waiting_bytes = sum(_size(tensor) for state in self.waiting.values() for tensor in state.tensors.values())
        if time.monotonic() >= self.due or waiting_bytes > _MAX_WAITING_BYTES:
            self._write({})

    def clear(self) -> None:
        """Delete all checkpoints: the stage is done."""
        self.waiting.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, running: dict[Path, State]) -> None:
        """Write all checkpoints. A full disk does not end a training; its resume point is just older."""
        begin = time.monotonic()
        try:
            for path, state in (self.waiting | running).items():
                write_state(path, state)
        except OSError as error:
            if not self.failed:
                print(f"a checkpoint could not be written, the training continues: {error}", file=sys.stderr)
            self.failed = True
        self.waiting.clear()
        end = time.monotonic()
        self.due = end + max(self.seconds, _WRITING_SHARE * (end - begin))

    def _path(self, training: Resumable) -> Path:
        """The file of a training, named by a digest of all that its result depends on."""
        digest = hashlib.sha256(self.made_by.encode() + training.identity())
        return self.folder / f"{digest.hexdigest()[:32]}.safetensors"


def write_state(path: Path, state: State) -> None:
    """Write the state of a training."""
    write_tensors(path, state.tensors, {"rules_version": RULES_VERSION, "state": state.numbers})


def read_state(path: Path) -> State:
    """The state that `write_state` wrote."""
    header, tensors = read_tensors(path)
    if not isinstance(header.get("state"), dict):
        raise StoreError(f"{path} is not a checkpoint")
    return State(header["state"], tensors)


def _size(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()
