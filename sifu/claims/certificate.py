"""What a certificate is worth, strictly counted: all leavers together, with the weights that were used."""

from __future__ import annotations

import pandas as pd

from sifu.claims.claim import Line, Measure, Measured, Verdict, each_dataset
from sifu.claims.tables import Tables

WORDS = (
    "A dataset holds where the interval of actual over claimed delta (at the claimed epsilon, the mean over requests) "
    "lies at or below 1, does not where it lies above 1, and is in part where it contains 1. Holds: on every dataset. "
    "In part: on some, or a dataset was not run. Does not hold: on none. What is strictly counted still assumes that "
    "B = 1 bounds the contraction."
)


def kept(value: Measured) -> Verdict:
    if value.high <= 1:
        return Verdict.HOLDS
    return Verdict.FAILS if value.low > 1 else Verdict.IN_PART


def promise(variant: str, label: str) -> Measure:
    """Actual over claimed delta, judged; actual over claimed epsilon, beside it."""

    def measure(tables: Tables) -> list[Line]:
        def ratio(of: str) -> list[Line]:
            def values(scenario: str) -> pd.Series:
                return _ratio(tables, scenario, variant, of)

            what = f"actual over claimed {of} of {label}"
            return each_dataset(what, values, kept, "times", lambda name: tables.ran(name, variant))

        beside = [Line(line.scenario, line.what, line.value, None, line.unit) for line in ratio("epsilon")]
        return [*ratio("delta"), *(line for line in beside if line.value is not None)]

    return measure


def _ratio(tables: Tables, scenario: str, variant: str, of: str) -> pd.Series:
    return tables.numbers(scenario, variant, f"actual_{of}") / tables.numbers(scenario, variant, f"claimed_{of}")
