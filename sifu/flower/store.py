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
from sifu.flower.chain import Chain
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
        if not self.history.branches:
            if any(self.log.of_kind("request")):
                raise StoreError(f"{self.folder / HISTORY} is missing or cut off: restore it from a copy of the store")
            return
        for node in ((0, 0), self.history.end):
            self.models.read(self.history.digest(node))


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
