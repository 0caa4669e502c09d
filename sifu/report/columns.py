"""Columns of tables, of which those that were stored earlier may have fewer."""

from __future__ import annotations

import math

import pandas as pd


def numbers(rows: pd.DataFrame, name: str) -> pd.Series:
    """A column as numbers; NaN where the table is older than the column."""
    return rows[name].astype(float) if name in rows else pd.Series(math.nan, rows.index)
