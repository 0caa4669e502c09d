"""Is Psi with B = 1 a bound on what a client did to the model (the paper's theorem 1 where its assumptions fail)?"""

from __future__ import annotations

import pandas as pd

from sifu.replication.claims.claim import EVERY_DATASET, Line, Measured, Verdict, unjudged
from sifu.replication.claims.tables import BESIDE, DATASETS, Tables
from sifu.report.bounds import ROUNDING

WORDS = (
    "A point is a round and one of a few clients of a seed, from the first on that it changed anything in; equal but "
    f"for rounding ({ROUNDING:g}) is below. A dataset holds where alpha <= Psi at every point, under the "
    "scenario's own settings and all others; is in part where only under its own, or no others were run; and does not "
    f"hold where a point under its own settings is above. {EVERY_DATASET} Strict Psi, beside it, takes the weights "
    "that the aggregation really used."
)
_OWN = "points with alpha <= {}, own settings"
_WORST = "worst alpha / Psi of a seed, {} settings (median [least, most] of the seeds)"


def psi_bounds(tables: Tables) -> list[Line]:
    """The share of points where the bound holds, and the worst ratio; beside it the same of the strict count."""
    return [line for scenario in (*DATASETS, *BESIDE) for line in _lines(scenario, tables.bounds)]


def _lines(scenario: str, bounds: pd.DataFrame) -> list[Line]:
    here = bounds[bounds["scenario"] == scenario]
    rows, strict = (here[here["rule"] == rule] for rule in ("published", "strict"))
    changed = rows["change"] != ""
    own, other = Measured.of(_share(rows[~changed])), Measured.of(_share(rows[changed]))
    others = f"points with alpha <= {{}}, {rows.loc[changed, 'change'].nunique()} other settings"
    unlike = strict["change"] != ""
    beside = [
        Line(scenario, others.format("Psi"), other),
        Line(scenario, _WORST.format("own"), _worst(rows[~changed]), None, "times"),
        Line(scenario, _WORST.format("other"), _worst(rows[changed]), None, "times"),
        Line(scenario, _OWN.format("strict Psi"), Measured.of(_share(strict[~unlike]))),
        Line(scenario, others.format("strict Psi"), Measured.of(_share(strict[unlike]))),
    ]
    first = Line(scenario, _OWN.format("Psi"), own, None if scenario in BESIDE else _verdict(own, other))
    return [first, *unjudged(beside)]


def held_strictly(tables: Tables, scenario: str) -> bool:
    """Whether strict Psi was measured, and below alpha nowhere under the scenario's own settings."""
    rows = tables.bounds[(tables.bounds["scenario"] == scenario) & (tables.bounds["rule"] == "strict")]
    own = rows[rows["change"] == ""]
    return len(own) > 0 and bool((own["held"] == own["points"]).all())


def hidden(tables: Tables, scenario: str, rule: str) -> pd.Series:
    """The share of a seed's clients who, were they the only one to leave, SIFU's noise would really hide: of those who
    had done something by then. A seed without any has none.
    """
    rows = tables.bounds[(tables.bounds["scenario"] == scenario) & (tables.bounds["rule"] == rule)]
    rows = rows[(rows["change"] == "") & rows["leavers"].notna()].set_index("seed")
    active = rows[rows["leavers"] > rows["idle"]]
    return ((active["hidden"] - active["idle"]) / (active["leavers"] - active["idle"])).astype(float)


def _share(rows: pd.DataFrame) -> pd.Series:
    sums = rows.groupby("seed")[["held", "points"]].sum()
    return sums["held"] / sums["points"]


def _worst(rows: pd.DataFrame) -> Measured | None:
    """The median over seeds: one model that explodes would be all that a mean tells."""
    worst = rows.groupby("seed")["worst"].max()
    return Measured(float(worst.median()), float(worst.min()), float(worst.max()), len(worst)) if len(worst) else None


def _verdict(own: Measured | None, other: Measured | None) -> Verdict:
    if own is None:
        return Verdict.NOT_RUN
    if own.mean < 1:
        return Verdict.FAILS
    return Verdict.HOLDS if other is not None and other.mean == 1 else Verdict.IN_PART
