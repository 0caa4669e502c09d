"""Prints and compares single cells of the results, with their provenance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from sifu.errors import StoreError
from sifu.store.missing_cell import seeds_of, why_missing
from sifu.store.parquet import read_stamp, read_table
from sifu.store.paths import stage_folder
from sifu.store.schemas import CELLS, METRICS

_MADE_BY = ("commit", "code_hash", "rules_version", "torch", "numpy", "device")


class CellKey(NamedTuple):
    """The key of a cell's row in the table `cells`."""

    scenario: str
    variant: str
    stop: str
    seed: int
    request: int


def print_cell(key: CellKey, results: Path, *, as_json: bool = False) -> None:
    """Print every number of a cell with all its digits: equal text means equal bits."""
    cell = read_cell(key, results)
    if as_json:
        print(json.dumps(cell, indent=2))
        return
    for title, values in cell.items():
        print(f"{title}:")
        for name, value in values.items():
            print(f"  {name:<36} {'-' if value is None else value}")


def compare_cells(key: CellKey, results: Path, others: Path) -> None:
    """Print that a cell is the same in two folders, or raise an error that names what differs."""
    ours, theirs = (_numbers(read_cell(key, folder)) for folder in (results, others))
    shared = [name for name in ours if name in theirs]
    differing = [f"{name} {ours[name]}, there {theirs[name]}" for name in shared if ours[name] != theirs[name]]
    if differing:
        raise StoreError(f"{len(differing)} of {len(shared)} numbers differ from {others}: {'; '.join(differing)}")
    print(f"{len(shared)} numbers are the same to the last digit")


def _numbers(cell: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return cell["numbers"] | cell.get("metrics", {})


def read_cell(key: CellKey, results: Path) -> dict[str, dict[str, Any]]:
    """The row of `cells`, the metrics if they have been measured, and the provenance of the row."""
    path = cells_file(key, results)
    row = _rows(read_table(path, CELLS), key, path).iloc[0].to_dict()
    cell: dict[str, dict[str, Any]] = {
        "cell": key._asdict(),
        "numbers": {str(name): _plain(value) for name, value in row.items() if name not in CellKey._fields},
    }
    verified = stage_folder(results, "verify", key.scenario, path.parent.name) / "metrics.parquet"
    if verified.exists():
        metrics = _rows(read_table(verified, METRICS), key, verified)
        cell["metrics"] = {f"{m.metric}, {m.subset}": m.value for m in metrics.itertuples()}
    stamp = read_stamp(path)
    cell["made by"] = {"file": str(path)} | {name: stamp[name] for name in _MADE_BY}
    return cell


def cells_file(key: CellKey, results: Path) -> Path:
    """The `cells` table of the block that holds the seed."""
    folder = stage_folder(results, "unlearn", key.scenario, part=key.variant)
    holding = [path for path in sorted(folder.glob("s*/cells.parquet")) if key.seed in seeds_of(path.parent.name)]
    if not holding:
        raise StoreError(why_missing(results, key.scenario, key.variant, key.seed))
    if len(holding) > 1:
        names = ", ".join(path.parent.name for path in holding)
        raise StoreError(f"seed {key.seed} is in several blocks under {folder} ({names}): give each its own --results")
    return holding[0]


def _rows(table: pd.DataFrame, key: CellKey, path: Path) -> pd.DataFrame:
    """The rows of the cell; if there are none, an error that lists the values there are."""
    for name, value in key._asdict().items():
        allowed = sorted(set(table[name]))
        table = table[table[name] == value]
        if table.empty:
            raise StoreError(f"{path} has no row with {name} {value}; it has {', '.join(map(str, allowed))}")
    return table


def _plain(value: Any) -> Any:
    """A value as JSON holds it; whole numbers that pandas made floating, because of nulls, are integers again."""
    if pd.isna(value):
        return None
    value = value.item() if hasattr(value, "item") else value
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
