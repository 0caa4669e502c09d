"""A file that only grows: JSON lines, each of which holds the digest of the line before it.

Whoever changes, removes or inserts a line changes every digest after it. What is cut off at the end shows in another
file that names the digest of a line (sifu/flower/audit.py), or to whoever has noted the last digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sifu.errors import StoreError

FIRST = "0" * 64  # what the first line holds as the digest of the line before it


class Entry(NamedTuple):
    """A line."""

    digest: str
    body: dict[str, Any]


class Chain:
    """The lines of `path` so far; a line that was being written when a process was killed is not one of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries, self._complete = _read(path)

    @property
    def head(self) -> str:
        """The digest of the last line."""
        return self.entries[-1].digest if self.entries else FIRST

    @property
    def is_whole(self) -> bool:
        """Whether the file ends with a whole line."""
        return not self.path.exists() or self.path.stat().st_size == self._complete

    def of_kind(self, kind: str) -> Iterator[dict[str, Any]]:
        """The lines of a kind, in their order."""
        return (entry.body for entry in self.entries if entry.body["kind"] == kind)

    def append(self, kind: str, **fields: Any) -> Entry:
        """Write one more line; it is on the disk when this returns."""
        body = {"kind": kind, **fields}
        entry = Entry(_digest(self.head, body), body)
        line = json.dumps({"before": self.head, "digest": entry.digest, "body": body}, sort_keys=True) + "\n"
        with open(self.path, "ab") as file:
            file.truncate(self._complete)  # what a killed process left of a line
            file.seek(0, os.SEEK_END)
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        self._complete += len(line.encode())
        self.entries.append(entry)
        return entry


def _digest(before: str, body: dict[str, Any]) -> str:
    """SHA-256 of the digest before, and of a body as JSON with sorted keys."""
    return hashlib.sha256((before + json.dumps(body, sort_keys=True)).encode()).hexdigest()


def _read(path: Path) -> tuple[list[Entry], int]:
    """All whole lines of a file, checked, and how many bytes they take."""
    entries: list[Entry] = []
    content = path.read_bytes() if path.exists() else b""
    complete = content.rfind(b"\n") + 1
    before = FIRST
    for number, line in enumerate(content[:complete].splitlines(), start=1):
        entry = _parsed(line, before)
        if entry is None:
            raise StoreError(
                f"line {number} of {path} is damaged or was changed: restore the file from a copy; "
                "nothing was done with the store"
            )
        entries.append(entry)
        before = entry.digest
    return entries, complete


def _parsed(line: bytes, before: str) -> Entry | None:
    """A line that follows the digest `before`; None if it does not."""
    try:
        parts = json.loads(line)
        entry = Entry(parts["digest"], parts["body"])
        fits = parts["before"] == before and entry.digest == _digest(before, entry.body) and "kind" in entry.body
    except (ValueError, KeyError, TypeError):
        return None
    return entry if fits else None
