"""What an auditor checks: that the log is whole, belongs to the history, and says what was done for every request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sifu.errors import StoreError
from sifu.flower.answer import Issued
from sifu.flower.chain import FIRST, Chain
from sifu.flower.history import logged_branches
from sifu.flower.store import HISTORY, LOG


def verify(folder: Path, head: str | None = None) -> tuple[Chain, Chain]:
    """The log and the history of a store, or a StoreError; `head`: a digest of the log that was noted before."""
    for name in (HISTORY, LOG):
        if name == HISTORY and not (folder / name).exists():
            raise StoreError(f"{folder / name} is missing: {folder} is no store, or was damaged")
    log, history = Chain(folder / LOG), Chain(folder / HISTORY)
    logged = {FIRST, *(entry.digest for entry in log.entries)}
    happened = {FIRST, *(entry.digest for entry in history.entries)}
    if head is not None and head not in logged:
        raise StoreError(f"{log.path} does not have the line {head}: it was cut off, or is another log")
    for digest in logged_branches(history):
        if digest not in logged:
            raise StoreError(f"{log.path} was cut off: the history names a roll-back that it does not have")
    for entry in log.entries:
        if entry.body.get("history", FIRST) not in happened:
            raise StoreError(f"{history.path} was cut off: the log names a line that it does not have")
    return log, history


def lines(log: Chain) -> Iterator[str]:
    """The log for a reader: a line for each thing that was done."""
    for entry in log.entries:
        yield f"{entry.body['time']}  {_words(entry.body)}"


def _words(body: dict[str, Any]) -> str:
    number, kind = body["request"], body["kind"]
    if kind == "request":
        return f"request {number}: forget {', '.join(body['clients'])}"
    if kind == "roll back":
        branch, cut = body["cut"]
        certificate = str(Issued.of(body["certificate"])).replace("\n", "; ")
        return f"request {number}: back to round {cut} of branch {branch}; {certificate}"
    return f"request {number}: answered after {body['rounds']} rounds, model {body['model']}"
