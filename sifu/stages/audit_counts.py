"""Counts of an audit, batch by batch: an audit that was interrupted goes on after the last batch that it counted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sifu.errors import StoreError
from sifu.store.json_file import read_json
from sifu.store.parquet import MAKE_AGAIN, write_text


class Count(NamedTuple):
    """What an attack found among models of both worlds."""

    models: int  # of each world
    hits: int
    alarms: int

    def joined(self, other: Count) -> Count:
        """Both counts together."""
        return Count(self.models + other.models, self.hits + other.hits, self.alarms + other.alarms)


@dataclass(frozen=True)
class StoredCounts:
    """Counts in `folder`, None: nowhere; `made_by` names the code and settings of the audit."""

    folder: Path | None
    made_by: str = ""

    def get(self, name: str, make: Callable[[], dict[str, Count]]) -> dict[str, Count]:
        """The counts of a batch: those that are stored, or else new ones."""
        if self.folder is None:
            return make()
        digest = hashlib.sha256(f"{self.made_by} {name}".encode()).hexdigest()[:32]
        path = self.folder / f"{digest}.json"
        if path.exists():
            return _counts(path)
        return self._made(path, make)

    @staticmethod
    def _made(path: Path, make: Callable[[], dict[str, Count]]) -> dict[str, Count]:
        """New counts, stored in `path`."""
        counts = make()
        write_text(path, json.dumps(counts))
        return counts


def _counts(path: Path) -> dict[str, Count]:
    """The counts in a file: whole numbers, no more hits or alarms than models."""
    counts = read_json(path)
    for values in counts.values():
        whole = isinstance(values, list) and len(values) == 3 and all(type(value) is int for value in values)
        if not whole or not 0 <= max(values[1:]) <= values[0] or min(values) < 0:
            raise StoreError(f"{path} does not hold counts of an audit; {MAKE_AGAIN}")
    return {key: Count(*values) for key, values in counts.items()}
