"""What an auditor checks: that the log is whole, belongs to the history, and says what was done for every request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sifu.errors import StoreError
from sifu.flower.answer import Issued
from sifu.flower.chain import FIRST, Chain
from sifu.flower.store import HISTORY, Store


def verify(folder: Path, head: str | None = None) -> tuple[Chain, Chain]:
    """The log and the history of a store, or a StoreError; `head`: a digest of the log that was noted before."""
    if not (folder / HISTORY).exists():
        raise StoreError(f"{folder / HISTORY} is missing: {folder} is no store, or was damaged")
    store = Store(folder)
    if head is not None and head not in {FIRST, *(entry.digest for entry in store.log.entries)}:
        raise StoreError(f"{store.log.path} does not have the line {head}: it was cut off, or is another log")
    store.check_lines()
    return store.log, store.history.chain


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
