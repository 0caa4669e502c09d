"""Today's answers counted as before rules 0.3: against a run in which the seats of forgotten clients stay empty."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd

from sifu.replication.claims.stored_tables import StoredTables

_POINT = ["scenario", "change", "request", "seed"]
_BOUND = ["points", "held", "worst"]


def with_empty_seats(tables: StoredTables) -> StoredTables:
    """The same tables, in which every strict count is the earlier one; what that says of single clients, and of all
    who were forgotten so far, is not stored: the request's clients stand for them.
    """
    psi = dict.fromkeys(("strict_psi", "single_psi", "everyone_psi"), tables.cells["empty_psi"])
    worth = dict.fromkeys(("actual_epsilon", "actual_delta"), math.nan)
    return replace(tables, cells=tables.cells.assign(**psi, **worth), bounds=_bounds(tables.bounds))


def _bounds(bounds: pd.DataFrame) -> pd.DataFrame:
    """Points of the earlier Psi in the rows of the strict one. Whether a client is hidden is no matter of counting: it
    is measured at the round that was gone back to, and stays.
    """
    strict = bounds["rule"] == "strict"
    earlier = bounds.loc[bounds["rule"] == "empty_seats", [*_POINT, *_BOUND]]
    counted = bounds[strict].drop(columns=_BOUND).merge(earlier, on=_POINT)
    return pd.concat([bounds[~strict], counted[bounds.columns]], ignore_index=True)
