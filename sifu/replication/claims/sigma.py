"""How much SIFU gains at the best sigma of the sweep."""

from __future__ import annotations

import pandas as pd

from sifu.replication.claims.claim import EVERY_DATASET, Line, Measured, Verdict, judged
from sifu.replication.claims.tables import BESIDE, DATASETS, REFERENCE, Tables, total_rounds

LEAST, MOST = 2.0, 5.0
WORDS = (
    "Speed-up: scratch's rounds over SIFU's, over all requests of a seed. The best sigma is the one with the largest "
    "mean among those under which every seed reaches the target at every request; chosen on the seeds that are "
    "reported, as in the paper, which flatters it; recoveries of the sweep may be cut earlier (`sigma_sweep.rounds`). "
    f"A dataset holds where the mean lies between {LEAST:g} and {MOST:g}, does not hold where the interval lies below, "
    f"and is in part otherwise, also where it lies above (faster than claimed). {EVERY_DATASET}"
)


def between(value: Measured) -> Verdict:
    if value.high < LEAST:
        return Verdict.FAILS
    return Verdict.HOLDS if LEAST <= value.mean <= MOST else Verdict.IN_PART


def best_sigma(tables: Tables) -> list[Line]:
    """At each dataset's best sigma the speed-up, and what it costs in forgetting."""
    return [line for scenario in (*DATASETS, *BESIDE) for line in _lines(tables, scenario)]


def _lines(tables: Tables, scenario: str) -> list[Line]:
    seeds = tables.sweep.loc[tables.sweep["scenario"] == scenario, "seed"].nunique()
    found = {sigma: _speed_up(tables, scenario, rows) for sigma, rows in tables.swept(scenario).items()}
    usable = {sigma: values for sigma, values in found.items() if len(values)}
    if not usable:  # not swept, or with a seed that does not get there under any sigma
        nothing = None if scenario in BESIDE else Verdict.NOT_TESTABLE if found else Verdict.NOT_RUN
        return [Line(scenario, "speed-up at the best sigma", None, nothing, "times", seeds)]
    sigma = max(usable, key=lambda value: float(usable[value].mean()))
    value = Measured.of(usable[sigma])
    verdict = judged(value, seeds, between) if scenario in DATASETS else None
    forgot = Line(
        scenario,
        f"accuracy on those who left minus scratch's, at sigma = {sigma:g}",
        Measured.of(_beyond_scratch(tables, scenario, tables.swept(scenario)[sigma])),
        unit="number",
    )
    return [Line(scenario, f"speed-up at sigma = {sigma:g}", value, verdict, "times", seeds), forgot]


def _speed_up(tables: Tables, scenario: str, rows: pd.DataFrame) -> pd.Series:
    """By seed; nothing where a seed does not get there, as its rounds then say nothing."""
    if not (rows["status"] == "done").all():
        return pd.Series(dtype=float)
    return (tables.totals(scenario, REFERENCE) / total_rounds(rows)).dropna()


def _beyond_scratch(tables: Tables, scenario: str, rows: pd.DataFrame) -> pd.Series:
    own = rows.groupby("seed")["forget_accuracy"].mean()
    return (own - tables.values(scenario, REFERENCE, "accuracy", "forgotten")).dropna()
