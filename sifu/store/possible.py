"""Whether the numbers of a table can be: counts that are not negative and can be added up, values that are numbers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from sifu.errors import StoreError
from sifu.store.table import Table

_ROUNDS = ("request", "rounds", "counted_rounds", "training_rounds")
_COSTS = ("client_steps", "comm_floats", "server_steps", "server_floats", "spares", "spare_steps")
_LARGEST = 2**53  # exact as float64; sums of larger ones would wrap around


def refuse_impossible(path: Path, table: Table, rows: pa.Table) -> None:
    """Refuse what the suite never writes, and what would change a mean without a word."""
    for column in table.columns:
        values = rows.column(column.name)
        if column.name in (*_ROUNDS, *_COSTS):
            ends = pc.min_max(values).as_py()
            wrong = [end for end in ends.values() if end is not None and not 0 <= end <= _LARGEST]
            if wrong:
                raise StoreError(f"{path}: column {column.name} has {wrong[0]}, expected 0 to {_LARGEST}")
        if pa.types.is_floating(column.type) and not column.nullable and pc.any(pc.is_nan(values)).as_py():
            raise StoreError(f"{path}: column {column.name} has a value that is no number")
