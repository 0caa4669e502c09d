"""The noise floor of gaps: how far scratch is from itself, run again with other cohorts and batches.

Absolute gaps are above 0 even for a perfect method: its gap is about the floor. A gap whose intervals reach down to
the floor is not shown to be more than the difference of two honest trainings.
"""

from __future__ import annotations

import math

import pandas as pd

AGAIN = "scratch_again"  # the variant that trains again from scratch
_GAPS = ("gap_to_scratch", "gap_to_scratch_same_stop")
FLOOR = "gap_floor"  # the quantity, next to a gap


def floors(statistics: pd.DataFrame) -> pd.DataFrame:
    """The mean absolute gap of scratch again, to its target, by scenario, request, quantity and subset (`floor`)."""
    rows = statistics[(statistics["variant"] == AGAIN) & (statistics["stop"] == "target")]
    rows = rows[rows["quantity"].isin(_GAPS)]
    return rows[["scenario", "request", "quantity", "subset", "mean"]].rename(columns={"mean": "floor"})


def with_floors(statistics: pd.DataFrame) -> pd.DataFrame:
    """The statistics, and a row for the floor of every gap: its `mean` is the floor (nan: not run), `not_above` whether
    both intervals of the gap reach down to it.
    """
    gaps = statistics[statistics["quantity"] == _GAPS[0]]
    found = gaps.merge(floors(statistics), how="left", on=["scenario", "request", "quantity", "subset"])
    reached = [
        not_above(row["floor"], (row["low"], row["high"]), (row["t_low"], row["t_high"]))
        for row in found.to_dict("records")
    ]
    added = found.assign(quantity=FLOOR, mean=found["floor"], not_above=reached).drop(columns="floor")
    return pd.concat([statistics, added])


def not_above(floor: float, *intervals: tuple[float | None, float | None]) -> bool:
    """Whether every interval of a gap reaches down to the floor: the gap is not told apart from what a perfect method
    has, whose mean absolute gap is the floor itself. A wide interval reaches it more easily. Intervals may be missing.
    """
    known = [(low, high) for low, high in intervals if low is not None and high is not None and not math.isnan(low)]
    return not math.isnan(floor) and bool(known) and all(low <= floor and high >= -floor for low, high in known)


def floor_text(floor: float | None, *, reached: bool = False) -> str:
    """`not shown above the floor of 0.012`, `floor 0.012`, or `floor -` where scratch was not run again."""
    if floor is None or math.isnan(floor):
        return "floor -"
    return f"not shown above the floor of {floor:.3f}" if reached else f"floor {floor:.3f}"
