"""The folder that a federation is kept in: its history, its log, and the models to go back to.

    store/history.jsonl   a line for each client, round and branch (sifu/flower/history.py)
    store/log.jsonl       a line for each request and what was done: for the auditor
    store/models/         safetensors, named by digest
    store/lock            held while training is under way

A model is written before the line that names it, and a request before anything is done about it. So a process may be
killed at any time: what has no line did not happen.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sifu.errors import StoreError
from sifu.flower.chain import FIRST, Chain
from sifu.flower.history import History
from sifu.flower.models import Models

HISTORY, LOG = "history.jsonl", "log.jsonl"


class Store:
    """The files of a federation in `folder`, as they are now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.history = History(Chain(folder / HISTORY))
        self.log = Chain(folder / LOG)
        self.models = Models(folder / "models")

    def stored(self) -> set[str]:
        """Digests of the models that are there and belong to the lineage."""
        nodes = self.history.nodes() if self.history.branches else []
        return {self.history.digest(node) for node in nodes if self.models.has(self.history.digest(node))}

    def check(self) -> None:
        """Refuse a store that has lost something which is needed to go on."""
        self.check_lines()
        for node in ((0, 0), self.history.end) if self.history.branches else ():
            self.models.read(self.history.digest(node))

    def check_lines(self) -> None:
        """Refuse a log and a history of which one is older than the other; a kill between two writes is no such case.

        Every branch names the line of its roll-back, and lines of the log name the last line of the history.
        """
        lines, happened = dict(self.log.entries), {FIRST, *(entry.digest for entry in self.history.chain.entries)}
        for number, branch in enumerate(self.history.branches[1:], start=1):
            if branch.log not in lines or lines[branch.log].get("request") != number:
                raise StoreError(self._lost(LOG, f"the history names a roll-back for request {number}"))
        if not all(body.get("history", FIRST) in happened for body in lines.values()):
            raise StoreError(self._lost(HISTORY, "the log names a line"))
        asked, answered = (sum(1 for _ in self.log.of_kind(kind)) for kind in ("request", "answer"))
        done = max(len(self.history.branches) - 1, 0)
        if not max(answered, asked - 1) <= done <= asked:
            old = LOG if done > asked else HISTORY
            raise StoreError(self._lost(old, f"there are {asked} requests and {done} branches, and one"))

    def _lost(self, name: str, what: str) -> str:
        return f"{self.folder / name} was cut off: {what} that it does not have; restore it from a copy of the store"


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """The store in `folder`, for this process alone."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"training is under way in {folder}: start and forget again when it has ended"
            ) from None  # nothing was written: the request has to be made again
        store = Store(folder)
        store.check()
        yield store
