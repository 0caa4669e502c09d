"""How many rounds a method takes beside scratch: over all requests of a seed, to the target."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from sifu.claims.claim import Line, Measure, Measured, Verdict, average, each_dataset
from sifu.claims.tables import REFERENCE, Tables

FEWER, MORE = 0.52, 0.12  # the paper's averages
FEWER_WORDS = (
    f"Holds: the interval of the average lies above 0 and reaches {FEWER:.0%}. In part: above 0, but below "
    f"{FEWER:.0%}, or a dataset was not run. Does not hold: the interval reaches 0. A dataset holds where its interval "
    "lies above 0."
)
MORE_WORDS = (
    f"Holds: the interval of the average lies above 0 and contains {MORE:.0%}. In part: above 0 without {MORE:.0%} in "
    "it, or a dataset was not run. Does not hold: the interval reaches 0. A dataset holds where its interval lies "
    "above 0."
)
SURVIVES_WORDS = (
    "Holds: the interval of the average reaches that of SIFU as published. In part: it lies above 0, but below that "
    "of SIFU, or a dataset was not run. Does not hold: it reaches 0. A dataset holds where its interval lies above 0."
)


def share_of_scratch(tables: Tables, scenario: str, variant: str) -> pd.Series:
    """Rounds over scratch's, by seed."""
    return (tables.totals(scenario, variant) / tables.totals(scenario, REFERENCE)).dropna()


def above_zero(value: Measured) -> Verdict:
    return Verdict.HOLDS if value.low > 0 else Verdict.FAILS


def saved(variant: str, label: str) -> Measure:
    """The share of scratch's rounds that a method saves."""
    return _beside_scratch(variant, f"rounds saved by {label}", lambda share: 1 - share)


def extra(variant: str, label: str) -> Measure:
    """The rounds that a method takes beyond scratch's, as a share of them."""
    return _beside_scratch(variant, f"rounds of {label} beyond scratch's", lambda share: share - 1)


def _beside_scratch(variant: str, what: str, change: Callable[[pd.Series], pd.Series]) -> Measure:
    def measure(tables: Tables) -> list[Line]:
        def values(scenario: str) -> pd.Series:
            return change(share_of_scratch(tables, scenario, variant))

        lines = each_dataset(what, values, above_zero, ran=lambda name: tables.ran(name, variant))
        return [*lines, average(lines, f"{what}, on average", values)]

    return measure


def saves_as_claimed(value: Measured) -> Verdict:
    if value.low <= 0:
        return Verdict.FAILS
    return Verdict.HOLDS if value.high >= FEWER else Verdict.IN_PART


def takes_as_claimed(value: Measured) -> Verdict:
    if value.low <= 0:
        return Verdict.FAILS
    return Verdict.HOLDS if value.low <= MORE <= value.high else Verdict.IN_PART


def saved_beside_sifu(variant: str, label: str) -> Measure:
    """What a variant of SIFU saves; the same average of SIFU as published comes last."""

    def measure(tables: Tables) -> list[Line]:
        whole = saved("sifu", "SIFU")(tables)[-1]
        return [*saved(variant, label)(tables), whole]

    return measure


def survives(lines: list[Line]) -> Verdict:
    """Of the two averages the first is judged, beside the second."""
    own, published = (line.value for line in lines if line.scenario == "")
    if own is None or published is None:
        return Verdict.NOT_TESTABLE
    if own.low <= 0:
        return Verdict.FAILS
    partial = any(line.counts and line.value is None for line in lines)
    return Verdict.HOLDS if own.high >= published.low and not partial else Verdict.IN_PART
