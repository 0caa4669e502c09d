"""One cell of the results, number by number, and where it comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from sifu.config.blocks import block_seeds
from sifu.errors import ConfigError, StoreError
from sifu.store.parquet import read_stamp, read_table
from sifu.store.schemas import CELLS, METRICS

_MADE_BY = ("commit", "code_hash", "rules_version", "torch", "numpy", "device")


class Wanted(NamedTuple):
    """Which cell: the key of its row in `cells`."""

    scenario: str
    variant: str
    stop: str
    seed: int
    request: int


def print_cell(wanted: Wanted, results: Path, *, as_json: bool = False) -> None:
    """Every number of a cell with all its digits: equal text is equal bits."""
    found = read_cell(wanted, results)
    if as_json:
        print(json.dumps(found, indent=2))
        return
    for title, values in found.items():
        print(f"{title}:")
        for name, value in values.items():
            print(f"  {name:<36} {'-' if value is None else value}")


def compare_cells(wanted: Wanted, results: Path, others: Path) -> None:
    """Says that a cell is the same in two folders, or raises with what is not."""
    one, other = (_numbers(read_cell(wanted, folder)) for folder in (results, others))
    shared = [name for name in one if name in other]
    differing = [f"{name} {one[name]}, there {other[name]}" for name in shared if one[name] != other[name]]
    if differing:
        raise StoreError(f"{len(differing)} of {len(shared)} numbers differ from {others}: {'; '.join(differing)}")
    print(f"{len(shared)} numbers are the same to the last digit")


def _numbers(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return found["numbers"] | found.get("metrics", {})


def read_cell(wanted: Wanted, results: Path) -> dict[str, dict[str, Any]]:
    """The row of `cells`, the metrics where they have been measured, and the provenance of both."""
    path = cells_file(wanted, results)
    row = _rows(read_table(path, CELLS), wanted, path).iloc[0].to_dict()
    found: dict[str, dict[str, Any]] = {
        "cell": wanted._asdict(),
        "numbers": {str(name): _plain(value) for name, value in row.items() if name not in Wanted._fields},
    }
    verified = results / "verify" / wanted.scenario / path.parent.name / "metrics.parquet"
    if verified.exists():
        metrics = _rows(read_table(verified, METRICS), wanted, verified)
        found["metrics"] = {f"{m.metric}, {m.subset}": m.value for m in metrics.itertuples()}
    stamp = read_stamp(path)
    found["made by"] = {"file": str(path)} | {name: stamp[name] for name in _MADE_BY}
    return found


def cells_file(wanted: Wanted, results: Path) -> Path:
    """The cells of the block that holds the seed."""
    folder = results / "unlearn" / wanted.scenario / wanted.variant
    holding = [path for path in sorted(folder.glob("s*/cells.parquet")) if _holds(path.parent.name, wanted.seed)]
    if not holding:
        raise StoreError(f"no block with seed {wanted.seed} under {folder}: run its stage `unlearn` first")
    if len(holding) > 1:
        names = ", ".join(path.parent.name for path in holding)
        raise StoreError(
            f"seed {wanted.seed} is in several blocks under {folder} ({names}): give each its own --results"
        )
    return holding[0]


def _holds(block: str, seed: int) -> bool:
    try:
        return seed in block_seeds(block)
    except ConfigError:
        return False


def _rows(table: pd.DataFrame, wanted: Wanted, path: Path) -> pd.DataFrame:
    """Those of the cell; what else there is, where it has none."""
    for name, value in wanted._asdict().items():
        allowed = sorted(set(table[name]))
        table = table[table[name] == value]
        if table.empty:
            raise StoreError(f"{path} has no row with {name} {value}; it has {', '.join(map(str, allowed))}")
    return table


def _plain(value: Any) -> Any:
    """A value that JSON knows; whole numbers that a null made floating are whole again."""
    if pd.isna(value):
        return None
    value = value.item() if hasattr(value, "item") else value
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
