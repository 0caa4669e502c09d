"""Margins of one variant in one world, kept until a block is done: a job that was cut off makes only the rest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sifu.stages.rows import frame
from sifu.store.oracle_schemas import MARGINS
from sifu.store.parquet import read_table, write_table
from sifu.store.provenance import Provenance


@dataclass(frozen=True)
class KeptMargins:
    """Parts of the table `margins` in `folder`; `made_by` names all that they follow from."""

    folder: Path
    made_by: str
    stamp: Provenance

    def has(self, name: str) -> bool:
        """Whether a part has been made."""
        return self._path(name).exists()

    def get(self, name: str, make: Callable[[], list[dict[str, Any]]]) -> pd.DataFrame:
        """A part: the one that is kept, or else a new one."""
        if not self.has(name):
            write_table(self._path(name), MARGINS, frame(MARGINS, make()), self.stamp, row_group_size=1)
        return self.read(name)

    def read(self, name: str) -> pd.DataFrame:
        """A part that has been made."""
        return read_table(self._path(name), MARGINS)

    def _path(self, name: str) -> Path:
        digest = hashlib.sha256(f"{self.made_by} {name}".encode()).hexdigest()[:32]
        return self.folder / f"{digest}.parquet"
