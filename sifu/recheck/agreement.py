"""Does a cell that was run again agree with the stored ones?

A number agrees if it lies between the least and the largest of all stored seeds of its scenario, variant, stop and
request, widened by their standard deviation: on another device rounding grows over rounds until it is as if a seed had
been drawn anew, so that no more can be asked. The widening is at least the distance of two looks (rounds) or one
example in a hundred (accuracies), as seeds may all have the same value. A stop that no stored seed had disagrees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from sifu.cell import Wanted
from sifu.claims.tables import Tables
from sifu.stop import LOOKS

ACCURACIES = ("retain", "forget", "forgotten", "test")
_LEAST = {"rounds": float(max(rounds for _, rounds in LOOKS)), "accuracy": 0.01}
_KEY = ["scenario", "variant", "stop", "request"]


@dataclass(frozen=True)
class Compared:
    """One number of a cell: as stored for its seed, as run again, and the range in which it agrees."""

    quantity: str
    stored: Any
    again: Any
    low: float | None
    high: float | None
    agrees: bool


def compare(cell: Wanted, stored: Tables, again: Tables) -> list[Compared]:
    """The status, the rounds and every accuracy of a cell."""
    then, now = _rows(stored.cells, cell), _rows(again.cells, cell)
    statuses = set(then["status"])
    ours, theirs = str(_own(now, cell)["status"].iloc[0]), str(_own(then, cell)["status"].iloc[0])
    found = [Compared("status", theirs, ours, None, None, ours in statuses)]
    found.append(_number("rounds", _LEAST["rounds"], then, now, cell, "rounds"))
    for subset in ACCURACIES:
        then, now = (_accuracy(tables.metrics, cell, subset) for tables in (stored, again))
        if len(_own(then, cell)) and len(_own(now, cell)):
            found.append(_number(f"accuracy, {subset}", _LEAST["accuracy"], then, now, cell, "value"))
    return found


def _rows(table: pd.DataFrame, cell: Wanted) -> pd.DataFrame:
    """Those of all seeds."""
    return table[(table[_KEY] == [getattr(cell, key) for key in _KEY]).all(axis=1)]


def _own(rows: pd.DataFrame, cell: Wanted) -> pd.DataFrame:
    return rows[rows["seed"] == cell.seed]


def _accuracy(metrics: pd.DataFrame, cell: Wanted, subset: str) -> pd.DataFrame:
    rows = _rows(metrics, cell)
    return rows[(rows["metric"] == "accuracy") & (rows["subset"] == subset)]


def _number(name: str, least: float, then: pd.DataFrame, now: pd.DataFrame, cell: Wanted, column: str) -> Compared:
    values = then[column].to_numpy(float)
    spread = max(float(values.std(ddof=1)) if len(values) > 1 else 0.0, least)
    low, high = float(values.min()) - spread, float(values.max()) + spread
    own, again = float(_own(then, cell)[column].iloc[0]), float(_own(now, cell)[column].iloc[0])
    return Compared(name, own, again, low, high, low <= again <= high)
