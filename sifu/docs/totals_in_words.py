"""Totals of requests in words, for the findings."""

from __future__ import annotations

import math
from collections.abc import Collection

import pandas as pd

OF_SCRATCH = " of scratch's client steps"
NO_GAP = "Whether it forgets was not measured."


def listed(names: list[str]) -> str:
    """`A, B and C`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def with_cost(rows: pd.DataFrame) -> pd.DataFrame:
    """The datasets where a variant has a cost in the table; its gap may not be measured there."""
    return rows[(2 * rows["compared"] >= rows["seeds"]) & rows["cost"].notna()] if len(rows) else rows


def unanswered(rows: pd.DataFrame, titles: dict[str, str], unclipped: Collection[tuple[str, str]] = ()) -> str:
    """Where a variant misses the target after some request in some seeds, as when its noise was too much.

    `unclipped`: scenarios and variants whose rows lack the clipping of the released code, so that models that explode
    are lost.
    """
    lacks = rows[rows["compared"] < rows["seeds"]]
    missed = set(zip(lacks["scenario"], lacks["variant"], strict=True))
    why = " (rows without the clipping of the paper's code)" if missed and missed <= set(unclipped) else ""
    found = [(titles[row["scenario"]], row["compared"], row["seeds"]) for row in rows.to_dict("records")]
    never = [title for title, compared, _ in found if compared == 0]
    seldom = [f"{compared} of {seeds} seeds of {title}" for title, compared, seeds in found if 0 < compared < seeds]
    words = [f"in no seed of {listed(never)}"] if never else []
    words += [f"in only {listed(seldom)}"] if seldom else []
    return f" It answers every request {', and '.join(words)}{why}." if words else ""


def cost_range(totals: pd.DataFrame, of: str = "") -> str:
    """The range of a cost, and on how many datasets."""
    low, high = f"{totals['cost'].min():.0%}", f"{totals['cost'].max():.0%}"
    return f"{low if low == high else f'{low} to {high}'}{of} ({datasets(totals)})"


def datasets(rows: pd.DataFrame | pd.Series) -> str:
    return "1 dataset" if len(rows) == 1 else f"{len(rows)} datasets"


def above_scratch(gaps: pd.Series) -> str:
    """`0.06 to 0.91 above`, with signs where some are below."""
    low, high = gaps.min(), gaps.max()
    return f"{low:.2f} to {high:.2f} above" if low >= 0 else f"{low:+.2f} to {high:+.2f} off"


def within(gaps: pd.Series) -> str:
    """The hundredth that no gap is beyond."""
    return f"{max(math.ceil(gaps.abs().max() * 100 - 1e-9) / 100, 0.01):.2f}"


def off_scratch(totals: pd.DataFrame) -> str:
    """How far from scratch's the accuracy on the forgotten clients is, and on how many datasets that was measured."""
    gaps = totals["gap"].dropna()
    if gaps.empty:
        return NO_GAP
    return f"Its accuracy on forgotten clients is within {within(gaps)} of scratch's ({datasets(gaps)})."
