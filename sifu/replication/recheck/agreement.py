"""How well does a cell that was run again agree with the stored ones?

What is drawn for a seed has the same bits on any device, so that every number is compared with its own seed's, request
by request. What is left is rounding, which may move a stop to another look. Far from the target looks are many rounds
apart, within a certain distance of it one comes with every round (sifu/federation/stop.py). Rounds are close within
the longest way from one look to the next, which near the target is many looks; accuracies within that distance.

Rounding grows over rounds: in a network until it is as if a seed had been drawn anew. For another device, another torch
or, on a GPU, other seeds beside it than the stored cell was made with, a number may therefore lie within seeds: between
the least and the largest of all stored seeds, widened by their standard deviation. That is weak evidence (scratch's
rows often lie within SIFU's), so it has a name of its own. A number that only one side has differs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pandas as pd

from sifu.federation.stop import EVALUATION_INTERVALS
from sifu.replication.claims.tables import Tables
from sifu.store.cell import CellKey

Value = str | int | float  # a status, rounds, an accuracy
_ROUNDS = max(rounds for _, rounds in EVALUATION_INTERVALS)
_ACCURACY = min(distance for distance, _ in EVALUATION_INTERVALS)
_SEQUENCE = ["scenario", "variant", "stop"]


class Verdict(Enum):
    """From the best to the worst."""

    SAME = "same"  # to the digits that are printed
    CLOSE = "close"  # to its own seed's
    WITHIN_SEEDS = "within seeds"  # no closer than another seed's would be
    DIFFERS = "differs"


@dataclass(frozen=True)
class Compared:
    """One number of one request: as stored for the cell's seed, and as run again; None: not there."""

    request: int
    quantity: str
    stored: Value | None
    again: Value | None
    verdict: Verdict


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    return max(verdicts, key=list(Verdict).index, default=Verdict.DIFFERS)


def compare(cell: CellKey, stored: Tables, again: Tables, *, elsewhere: bool) -> list[Compared]:
    """The status, the rounds and every accuracy of all requests of a cell's seed, under the cell's stop rule.

    `elsewhere`: it was run again where rounding may be another one: another device, torch or, on a GPU, block.
    """
    then, now = _values(stored, cell), _values(again, cell)
    own = [key for key in then | now if cell.seed in then[key] or cell.seed in now[key]]
    found = []
    for request, quantity in sorted(own, key=lambda key: key[0]):
        seeds, value = then[request, quantity], now[request, quantity].get(cell.seed)
        verdict = _verdict(seeds, cell.seed, value, elsewhere)
        found.append(Compared(request, quantity, seeds.get(cell.seed), value, verdict))
    return found


def _values(tables: Tables, cell: CellKey) -> defaultdict[tuple[int, str], dict[int, Value]]:
    """Every seed's value of a request and quantity."""
    found: defaultdict[tuple[int, str], dict[int, Value]] = defaultdict(dict)
    cells, metrics = (_rows(table, cell) for table in (tables.cells, tables.metrics))
    for row in cells.to_dict("records"):
        found[row["request"], "status"][row["seed"]] = str(row["status"])
        found[row["request"], "rounds"][row["seed"]] = int(row["rounds"])
    for row in metrics[metrics["metric"] == "accuracy"].to_dict("records"):
        found[row["request"], f"accuracy, {row['subset']}"][row["seed"]] = float(row["value"])
    return found


def _rows(table: pd.DataFrame, cell: CellKey) -> pd.DataFrame:
    """Those of all seeds and requests."""
    return table[(table[_SEQUENCE] == list(cell[:3])).all(axis=1)]


def _verdict(stored: dict[int, Value], seed: int, again: Value | None, elsewhere: bool) -> Verdict:
    own = stored.get(seed)
    if own is None or again is None:
        return Verdict.DIFFERS
    if text(own) == text(again):
        return Verdict.SAME
    if _is_close(own, again):
        return Verdict.CLOSE
    return Verdict.WITHIN_SEEDS if elsewhere and _within(list(stored.values()), again) else Verdict.DIFFERS


def _is_close(own: Value, again: Value) -> bool:
    if isinstance(own, str) or isinstance(again, str):
        return False
    return abs(own - again) <= _room(own)


def _room(value: int | float) -> float:
    return _ROUNDS if isinstance(value, int) else _ACCURACY


def _within(stored: list[Value], again: Value) -> bool:
    """A status that a seed has; a number in the range of the seeds, which may all have the same."""
    if isinstance(again, str):
        return again in stored
    values = np.array(stored, dtype=float)
    spread = max(float(values.std(ddof=1)) if len(values) > 1 else 0.0, _room(again))
    return bool(values.min() - spread <= again <= values.max() + spread)


def text(value: Value | None) -> str:
    """As it is printed: rounds in full, accuracies to one answer in ten thousand."""
    if value is None:
        return "missing"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
