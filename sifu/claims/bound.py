"""Is Psi with B = 1 a bound on what a client did to the model (the paper's theorem 1 where its assumptions fail)?"""

from __future__ import annotations

import pandas as pd

from sifu.claims.claim import Line, Measured, Verdict
from sifu.claims.tables import BESIDE, DATASETS, Tables

WORDS = (
    "A point is a round and a client of a seed. A dataset holds where alpha <= Psi at every point, under the "
    "scenario's own settings and all others; is in part where only under its own; and does not hold where a point "
    "under its own settings is above. Holds: on every dataset. In part: on some, or a dataset was not run. Does not "
    "hold: on none."
)
_OWN, _OTHER = "points with alpha <= Psi, own settings", "points with alpha <= Psi, other settings"


def psi_bounds(tables: Tables) -> list[Line]:
    """The share of points where the bound holds, and the worst ratio."""
    rows = tables.bounds[tables.bounds["rule"] == "published"]
    return [line for scenario in (*DATASETS, *BESIDE) for line in _lines(scenario, rows[rows["scenario"] == scenario])]


def _lines(scenario: str, rows: pd.DataFrame) -> list[Line]:
    changed = rows["change"] != ""
    own, other = Measured.of(_share(rows[~changed])), Measured.of(_share(rows[changed]))
    judged = None if scenario in BESIDE else _verdict(own, other)
    lines = [Line(scenario, _OWN, own, judged)]
    if other is not None:
        lines.append(Line(scenario, _OTHER, other))
    if len(rows):
        lines.append(Line(scenario, "worst alpha / Psi of a seed", Measured.of(_worst(rows)), None, "times"))
    return lines


def _share(rows: pd.DataFrame) -> pd.Series:
    sums = rows.groupby("seed")[["held", "points"]].sum()
    return sums["held"] / sums["points"]


def _worst(rows: pd.DataFrame) -> pd.Series:
    return rows.groupby("seed")["worst"].max()


def _verdict(own: Measured | None, other: Measured | None) -> Verdict:
    if own is None:
        return Verdict.NOT_RUN
    if own.mean < 1:
        return Verdict.FAILS
    return Verdict.IN_PART if other is not None and other.mean < 1 else Verdict.HOLDS
