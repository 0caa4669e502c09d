"""How much better than scratch's model a method's still knows those who have left, after recovery to the target."""

from __future__ import annotations

import pandas as pd

from sifu.claims.claim import Line, Measure, Measured, Rule, Verdict, each_dataset
from sifu.claims.tables import REFERENCE, Tables

POOR = 0.05  # accuracy above scratch's
SLIGHTLY = 0.1
OVERLAPS = "fashionmnist"  # the one dataset where the paper sees no difference
POOR_WORDS = (
    f"A dataset holds where the interval of the accuracy beyond scratch's lies above {POOR:g}, does not where it lies "
    f"at or below {POOR:g}, and is in part between. Holds: on every dataset. In part: on some, or a dataset was not "
    "run. Does not hold: on none."
)
SLIGHTLY_WORDS = (
    f"A dataset holds where the interval of the accuracy beyond scratch's lies above 0 and its mean is at most "
    f"{SLIGHTLY:g} (FashionMNIST also where the interval contains 0), is in part where the interval contains 0, and "
    "does not hold otherwise. Holds: on every dataset. In part: on some, or a dataset was not run."
)


def beyond_scratch(tables: Tables, scenario: str, variant: str) -> pd.Series:
    """Accuracy on all who have left minus scratch's, seed by seed, the mean over requests."""
    own, scratch = (tables.values(scenario, name, "accuracy", "forgotten") for name in (variant, REFERENCE))
    return (own - scratch).dropna()


def poor(value: Measured) -> Verdict:
    if value.low > POOR:
        return Verdict.HOLDS
    return Verdict.FAILS if value.high <= POOR else Verdict.IN_PART


def forgets_poorly(variant: str, label: str) -> Measure:
    what = f"accuracy of {label} on those who left, minus scratch's"
    return lambda tables: _lines(tables, variant, what, poor)


def _lines(tables: Tables, variant: str, what: str, rule: Rule) -> list[Line]:
    def values(scenario: str) -> pd.Series:
        return beyond_scratch(tables, scenario, variant)

    return each_dataset(what, values, rule, "number", lambda name: tables.ran(name, variant))


def slightly(value: Measured) -> Verdict:
    if value.low <= 0 <= value.high:
        return Verdict.IN_PART
    return Verdict.HOLDS if 0 < value.mean <= SLIGHTLY else Verdict.FAILS


def slightly_above(tables: Tables) -> list[Line]:
    """SIFU's accuracy on those who have left, beside scratch's."""
    what = "accuracy of SIFU on those who left, minus scratch's"
    return [_overlapping(line) for line in _lines(tables, "sifu", what, slightly)]


def _overlapping(line: Line) -> Line:
    """Where the paper itself sees an overlap, one is what it claims."""
    if line.scenario == OVERLAPS and line.verdict is Verdict.IN_PART:
        return Line(line.scenario, line.what, line.value, Verdict.HOLDS, line.unit)
    return line
