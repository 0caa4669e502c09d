"""How well does a cell that was run again agree with the stored ones?

All draws of a seed have the same bits on any device. So every number is compared with that of its own seed, request by
request. Only rounding differs, and it may move a stop to another evaluation. Far from the target evaluations are many
rounds apart; within a certain distance of it every round is evaluated (sifu/federation/stop.py). Rounds are close
within the longest wait between two evaluations, accuracies within that distance, client steps within those of the
rounds that differ, and the strictly counted sensitivity within a hundredth.

Rounding grows over rounds, in a network until the seed is as good as another one. With another device, another torch
or, on a GPU, another block of seeds a number may therefore lie within seeds: between the least and the largest of all
stored seeds, widened by their standard deviation. That is weak evidence (scratch's rows often lie within SIFU's), so it
has a name of its own. A number that only one side has differs; but tables that were carried over from older rules
have no sensitivity.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pandas as pd

from sifu.federation.stop import EVALUATION_INTERVALS
from sifu.replication.claims.stored_tables import StoredTables
from sifu.store.cell import CellKey

Value = str | int | float  # a status, rounds, an accuracy
_ROUNDS = max(rounds for _, rounds in EVALUATION_INTERVALS["close"])
_ACCURACY = min(distance for distance, _ in EVALUATION_INTERVALS["close"])
_SMALL = 0.1  # below, digits are counted from the first that is not 0
_PSI = 0.01  # of the sensitivity
STEPS, PSI = "client steps", "strict psi"
_SEQUENCE = ["scenario", "variant", "stop"]


class Agreement(Enum):
    """How well a number agrees, from the best to the worst."""

    SAME = "same"  # to the digits that are printed
    CLOSE = "close"  # to that of its own seed
    WITHIN_SEEDS = "within seeds"  # no closer than another seed would be
    DIFFERS = "differs"


@dataclass(frozen=True)
class Compared:
    """One number of one request: as stored for the cell's seed, and as run again; None: missing."""

    request: int
    quantity: str
    stored: Value | None
    again: Value | None
    agreement: Agreement


def worst(agreements: Iterable[Agreement]) -> Agreement:
    """The worst of several; of none, that it differs."""
    return max(agreements, key=list(Agreement).index, default=Agreement.DIFFERS)


def compare(cell: CellKey, stored: StoredTables, again: StoredTables, *, elsewhere: bool) -> list[Compared]:
    """The status, the costs, the sensitivity and every accuracy of all requests of a cell's seed, under its stop rule.

    `elsewhere`: rounding may differ, as device, torch or, on a GPU, block of the re-run are others.
    """
    before, after = _values(stored, cell), _values(again, cell)
    own = [key for key in before | after if cell.seed in before[key] or (cell.seed in after[key] and key[1] != PSI)]
    compared = []
    for request, quantity in sorted(own, key=lambda key: key[0]):
        seeds, value = before[request, quantity], after[request, quantity].get(cell.seed)
        room = _room(quantity, [table[request, "rounds"].get(cell.seed) for table in (before, after)], value)
        agreement = _agreement(seeds, cell.seed, value, room, elsewhere)
        compared.append(Compared(request, quantity, seeds.get(cell.seed), value, agreement))
    return compared


def _values(tables: StoredTables, cell: CellKey) -> defaultdict[tuple[int, str], dict[int, Value]]:
    """Every seed's value of a request and quantity."""
    values: defaultdict[tuple[int, str], dict[int, Value]] = defaultdict(dict)
    cells, metrics = (_rows(table, cell) for table in (tables.cells, tables.metrics))
    for row in cells.to_dict("records"):
        values[row["request"], "status"][row["seed"]] = str(row["status"])
        values[row["request"], "rounds"][row["seed"]] = int(row["rounds"])
        values[row["request"], STEPS][row["seed"]] = int(row["client_steps"])
        if pd.notna(row["strict_psi"]):
            values[row["request"], PSI][row["seed"]] = float(row["strict_psi"])
    for row in metrics[metrics["metric"] == "accuracy"].to_dict("records"):
        values[row["request"], f"accuracy, {row['subset']}"][row["seed"]] = float(row["value"])
    return values


def _rows(table: pd.DataFrame, cell: CellKey) -> pd.DataFrame:
    """The rows of all seeds and requests of a cell's scenario, variant and stop."""
    return table[(table[_SEQUENCE] == list(cell[:3])).all(axis=1)]


def _room(quantity: str, rounds: list[Value | None], again: Value | None) -> float:
    """How far apart two numbers of one seed may be. The stored ones may be made up: what scales is the re-run's."""
    if quantity == "rounds":
        return _ROUNDS
    if quantity == PSI:
        return _PSI * abs(again) if isinstance(again, float) else 0.0
    if quantity != STEPS:
        return _ACCURACY
    before, after = (count if isinstance(count, int) else 0 for count in rounds)
    return 2 * abs(before - after) * int(again or 0) / max(after, 1)


def _agreement(stored: dict[int, Value], seed: int, again: Value | None, room: float, elsewhere: bool) -> Agreement:
    own = stored.get(seed)
    if own is None or again is None:
        return Agreement.DIFFERS
    if text(own) == text(again):
        return Agreement.SAME
    if not isinstance(own, str) and not isinstance(again, str) and abs(own - again) <= room:
        return Agreement.CLOSE
    return Agreement.WITHIN_SEEDS if elsewhere and _within(list(stored.values()), again, room) else Agreement.DIFFERS


def _within(stored: list[Value], again: Value, room: float) -> bool:
    """Whether a seed has the same status, or a number lies in the range of the seeds, widened by their spread."""
    if isinstance(again, str):
        return again in stored
    values = np.array(stored, dtype=float)
    spread = max(float(values.std(ddof=1)) if len(values) > 1 else 0.0, room)
    return bool(values.min() - spread <= again <= values.max() + spread)


def text(value: Value | None) -> str:
    """A number as it is printed: whole numbers in full, others with four digits."""
    if value is None:
        return "missing"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4g}" if 0 < abs(value) < _SMALL else f"{value:.4f}"
