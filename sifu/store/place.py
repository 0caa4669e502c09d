"""Whether a table belongs where it lies: its rows against the scenario, the variant and the seeds of its path.

results/<stage>/<scenario>[/<part>]/<block>/<table>.parquet
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from sifu.config.blocks import block_seeds
from sifu.errors import ConfigError, StoreError
from sifu.store.table import Table

_WHOLE = ("partition", "cells")  # tables that have rows of every seed of their block
_PARTS = {  # the column that the part of a path stands in
    **dict.fromkeys(("search", "sweep", "setting_sweep", "cells", "curves", "sensitivity"), "variant"),
    "alpha": "change",
}
_TRAINING = "train"  # stage, and the variant of its rows


def refuse_misplaced(path: Path, table: Table, rows: pa.Table) -> None:
    """Refuse rows of another scenario, variant or seed than the path says; a file outside of blocks may hold any."""
    try:
        seeds = block_seeds(path.parent.name)
    except ConfigError:
        return
    if not rows.num_rows or "scenario" not in rows.column_names:
        return
    _refuse_seeds(path, table, rows, seeds)
    (scenario, *others) = _values(rows, "scenario")
    folder, above = (path.absolute().parents[level].name for level in (1, 2))
    if others or scenario not in (folder, above):
        raise StoreError(f"{path} holds rows of scenario {_some([scenario, *others])}, its path says another one")
    column = _PARTS.get(table.name)
    if column is not None:
        without = "" if column == "change" else _TRAINING  # what stands in the rows of a path without a part
        parts = [folder] * (scenario == above) + [without] * (scenario == folder)
        _refuse_part(path, column, _values(rows, column), parts)


def _refuse_seeds(path: Path, table: Table, rows: pa.Table, seeds: range) -> None:
    found = [*map(int, _values(rows, "seed"))] if "seed" in rows.column_names else []
    foreign = [seed for seed in found if seed not in seeds]
    if foreign:
        raise StoreError(f"{path} holds rows of seed {_some(foreign)}, its path says {seeds[0]} to {seeds[-1]}")
    if table.name in _WHOLE and len(found) < len(seeds):
        raise StoreError(f"{path} has rows of {len(found)} of the {len(seeds)} seeds of its block")


def _refuse_part(path: Path, column: str, found: list[str], parts: list[str]) -> None:
    if len(found) > 1 or found[0] not in parts:
        raise StoreError(f"{path} holds rows of {column} {_some(found)}, expected {parts[0] or 'none'} there")


def _values(rows: pa.Table, column: str) -> list[str]:
    return pc.unique(rows.column(column)).to_pylist()


def _some(values: list[str] | list[int]) -> str:
    """The first few of some values, each cut if it is long."""
    return ", ".join(str(value)[:40] for value in values[:3]) + ("" if len(values) <= 3 else ", ...")
