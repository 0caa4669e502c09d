"""Tables of which a test gives only the columns that matter to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from sifu.store.parquet import write_table
from sifu.store.provenance import provenance
from sifu.store.table import Table


def write(path: Path, table: Table, rows: Iterable[dict[str, Any]], settings: Mapping[str, Any] | None = None) -> None:
    """Write rows; of what they leave out, nullable columns are empty, other numbers 1 and other words x. `settings`: of
    the stamp.
    """
    needed = {c.name: "x" if str(c.type) == "string" else 1 for c in table.columns if not c.nullable}
    frame = pd.DataFrame([needed | row for row in rows], columns=[column.name for column in table.columns])
    write_table(path, table, frame, provenance("test", dict(settings or {}), "0" * 16, "cpu"))
