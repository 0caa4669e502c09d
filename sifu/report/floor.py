"""The noise floor of gaps: how far scratch is from itself, run again with other cohorts and batches.

Absolute gaps are above 0 even for a perfect method. A gap whose intervals lie inside plus and minus the floor says no
more than that two honest trainings differ.
"""

from __future__ import annotations

import math

import pandas as pd

AGAIN = "scratch_again"  # the variant that trains again from scratch
_GAPS = ("gap_to_scratch", "gap_to_scratch_same_stop")
_ENDS = ("low", "high", "t_low", "t_high")
FLOOR = "gap_floor"  # the quantity, next to a gap


def floors(statistics: pd.DataFrame) -> pd.DataFrame:
    """The mean absolute gap of scratch again, to its target, by scenario, request, quantity and subset (`floor`)."""
    rows = statistics[(statistics["variant"] == AGAIN) & (statistics["stop"] == "target")]
    rows = rows[rows["quantity"].isin(_GAPS)]
    return rows[["scenario", "request", "quantity", "subset", "mean"]].rename(columns={"mean": "floor"})


def with_floors(statistics: pd.DataFrame) -> pd.DataFrame:
    """The statistics, and a row for the floor of every gap: its `mean` is the floor (nan: not run), `within` whether
    both intervals of the gap lie inside it.
    """
    gaps = statistics[statistics["quantity"] == _GAPS[0]]
    found = gaps.merge(floors(statistics), how="left", on=["scenario", "request", "quantity", "subset"])
    inside = [within(row["floor"], *(row[end] for end in _ENDS)) for row in found.to_dict("records")]
    added = found.assign(quantity=FLOOR, mean=found["floor"], within=inside).drop(columns="floor")
    return pd.concat([statistics, added])


def within(floor: float, *ends: float) -> bool:
    """Whether all ends of the intervals of a gap lie inside plus and minus the floor; ends may be missing."""
    return not math.isnan(floor) and all(abs(end) <= floor for end in ends if end is not None and not math.isnan(end))


def floor_text(floor: float | None, *, inside: bool = False) -> str:
    """`within the floor of 0.012`, `floor 0.012`, or `floor -` where scratch was not run again."""
    if floor is None or math.isnan(floor):
        return "floor -"
    return f"within the floor of {floor:.3f}" if inside else f"floor {floor:.3f}"
