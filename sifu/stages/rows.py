"""Rows of tables from what the engine gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from sifu.core.types import Status
from sifu.federation.segment import Segment, Work
from sifu.store.schemas import CELLS, CURVES
from sifu.store.table import Table
from sifu.unlearning.sequence import Answer

ORIGINAL = "original"  # name of the model before the first request, next to the unlearned weights


@dataclass(frozen=True)
class Cell:
    """Which cell of the plan rows belong to."""

    scenario: str
    variant: str
    stop: str
    seeds: Sequence[int]
    request: int

    def key(self, seed: int | np.ndarray) -> dict[str, Any]:
        return {
            "scenario": self.scenario,
            "variant": self.variant,
            "stop": self.stop,
            "seed": seed,
            "request": self.request,
        }


def frame(table: Table, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows as a frame with all columns of a table; what a row leaves out is null."""
    return pd.DataFrame(rows, columns=[column.name for column in table.columns])


def cell_rows(status: Sequence[Status], work: Work, cell: Cell, **more: Tensor) -> pd.DataFrame:
    """One row a seed: how it ended, what it cost, and whatever else is known of it."""
    numbers = {
        "rounds": work.rounds,
        "counted_rounds": work.rounds,  # unless `more` has another count
        "client_steps": work.client_steps,
        "comm_floats": work.comm_floats,
        "server_steps": work.at_the_server,
    } | more
    rows = [
        cell.key(seed) | {"status": status[i].value} | {name: values[i].item() for name, values in numbers.items()}
        for i, seed in enumerate(cell.seeds)
    ]
    return frame(CELLS, rows)


def answer_rows(answer: Answer, seeds: range, key: dict[str, Any]) -> list[dict[str, Any]]:
    """One row a seed of what a request cost and where it ended, for sweeps: its last evaluation is of its result."""
    segment, counted = answer.unlearned.segment, answer.counted_rounds
    last = {evaluation.seed_row: evaluation for evaluation in segment.evaluations}
    return [
        key
        | {
            "seed": seed,
            "status": segment.status[i].value,
            "rounds": int(answer.work.rounds[i]),
            "counted_rounds": int(counted[i]),
            "client_steps": int(answer.work.client_steps[i]),
            "cut_round": int(answer.unlearned.node.round[i]),
            "retain_accuracy": last[i].retain_accuracy if i in last else None,
            "forget_accuracy": last[i].forget_accuracy if i in last else None,
        }
        for i, seed in enumerate(seeds)
    ]


def curve_rows(segment: Segment, cell: Cell) -> pd.DataFrame:
    """One row per evaluation."""
    rows = [
        cell.key(cell.seeds[entry.seed_row])
        | {"round": entry.round, "retain_accuracy": entry.retain_accuracy, "forget_accuracy": entry.forget_accuracy}
        for entry in segment.evaluations
    ]
    return frame(CURVES, rows)
