"""Totals of requests in words, for the findings."""

from __future__ import annotations

import pandas as pd

OF_SCRATCH = " of scratch's client steps"


def listed(names: list[str]) -> str:
    """`A, B and C`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def with_cost(rows: pd.DataFrame) -> pd.DataFrame:
    """The datasets where a variant has a cost in the table; its gap may not be measured there."""
    return rows[(2 * rows["compared"] >= rows["seeds"]) & rows["cost"].notna()] if len(rows) else rows


def unanswered(rows: pd.DataFrame, titles: dict[str, str]) -> str:
    """Where a variant misses the target after some request in some seeds, as when its noise was too much."""
    found = [(titles[row["scenario"]], row["compared"], row["seeds"]) for row in rows.to_dict("records")]
    never = [title for title, compared, _ in found if compared == 0]
    seldom = [f"{compared} of {seeds} seeds of {title}" for title, compared, seeds in found if 0 < compared < seeds]
    words = [f"in no seed of {listed(never)}"] if never else []
    words += [f"in only {listed(seldom)}"] if seldom else []
    return f" It answers every request {', and '.join(words)}." if words else ""


def cost_range(totals: pd.DataFrame, of: str = "") -> str:
    """The range of a cost, and on how many datasets."""
    low, high = f"{totals['cost'].min():.0%}", f"{totals['cost'].max():.0%}"
    return f"{low if low == high else f'{low} to {high}'}{of} ({datasets(totals)})"


def datasets(rows: pd.DataFrame | pd.Series) -> str:
    return "1 dataset" if len(rows) == 1 else f"{len(rows)} datasets"
