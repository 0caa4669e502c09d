"""How many rounds a method takes beside scratch: over all requests of a seed, to the target."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from sifu.replication.claims.claim import (
    EVERY_DATASET,
    SOME_SEEDS,
    Line,
    Measure,
    Measured,
    Verdict,
    average,
    each_dataset,
    shown,
    something_missing,
    unjudged,
)
from sifu.replication.claims.tables import REFERENCE, Tables

FEWER, MORE = 0.52, 0.12  # the paper's averages
ALIKE = 0.05  # of scratch's rounds
_DATASET = f"A dataset holds where its interval lies above 0. {SOME_SEEDS}"
FEWER_WORDS = (
    f"Does not hold: the interval of the average reaches 0. Holds: it reaches {FEWER:.0%}, and no dataset is missing. "
    f"In part: otherwise, also where a seed is. {_DATASET} The paper's numbers come from its code, which counts "
    "sensitivity otherwise: what SIFU saves as released stands beside, and what it saves in client steps."
)
_SEARCHED = (
    "dt and r are those that a search chose (below); FedEraser's own paper has 2 and 0.5, the SIFU paper names none. "
    "With dt = 1 the training is gone through again, round by round, before recovery begins, and that there are more "
    "rounds than scratch's is then arithmetic. Where the search allows fewer rounds than scratch takes, as on CIFAR, a "
    "longer interval cannot make up for what it leaves out, and dt = 1 is what is chosen."
)
MORE_WORDS = (
    f"Does not hold: the interval of the average reaches 0. Holds: it contains {MORE:.0%}, and no dataset is missing. "
    f"In part: otherwise, also where a seed is. {_DATASET} A round of FedEraser's calibration may be shorter than "
    f"one of training (r): client steps stand beside. {_SEARCHED}"
)
STILL_MORE_WORDS = (
    "Does not hold: the interval of the average reaches 0. Holds: it lies above 0, and no dataset is missing. In "
    f"part: otherwise. {_DATASET} {_SEARCHED} Client steps stand beside, also beside SIFU's: by them, and by what it "
    "has forgotten, FedEraser may be as good."
)
SURVIVES_WORDS = (
    "Does not hold: the interval of the average reaches 0. Holds: the average lies above 0, nothing is lost against "
    "SIFU as published (the interval of the difference, seed by seed, reaches 0), and no dataset is missing. In part: "
    f"otherwise. {_DATASET} Whether "
    "that is owed to what SIFU keeps of a training, the next claim says."
)
ALIKE_WORDS = (
    "The share of scratch's rounds that the released code saves, minus the same of SIFU as published, seed by seed. A "
    f"dataset holds where the interval lies within {ALIKE:.0%} of 0, does not where it lies outside, and is in part "
    f"between. {SOME_SEEDS} {EVERY_DATASET}"
)


def share_of_scratch(tables: Tables, scenario: str, variant: str, cost: str = "rounds") -> pd.Series:
    """A cost over scratch's, by seed."""
    return (tables.totals(scenario, variant, cost) / tables.totals(scenario, REFERENCE, cost)).dropna()


def above_zero(value: Measured) -> Verdict:
    return Verdict.HOLDS if value.low > 0 else Verdict.FAILS


def saved(variant: str, label: str) -> Measure:
    """The share of scratch's rounds that a method saves."""
    return _beside_scratch(variant, f"rounds saved by {label}", lambda share: 1 - share)


def saved_and_released(tables: Tables) -> list[Line]:
    """What SIFU saves, judged; its client steps, and what its released code saves, beside it."""
    steps = _beside_scratch("sifu", "client steps saved by SIFU", lambda share: 1 - share, "client_steps")
    released = saved("sifu_released", "SIFU as released")
    return [*saved("sifu", "SIFU")(tables), *unjudged(steps(tables)), *unjudged(released(tables))]


def extra(variant: str, label: str) -> Measure:
    """The rounds that a method takes beyond scratch's, as a share of them; the same of client steps stands beside."""
    rounds, steps = (
        _beside_scratch(variant, f"{name} of {label} beyond scratch's", lambda share: share - 1, cost)
        for name, cost in (("rounds", "rounds"), ("client steps", "client_steps"))
    )
    return lambda tables: [*rounds(tables), *unjudged(steps(tables))]


def extra_and_sifu(variant: str, label: str) -> Measure:
    """The same, and the client steps beyond SIFU's."""

    def measure(tables: Tables) -> list[Line]:
        def beyond(scenario: str) -> pd.Series:
            own, sifu = (tables.totals(scenario, name, "client_steps") for name in (variant, "sifu"))
            return (own / sifu - 1).dropna()

        return [*extra(variant, label)(tables), *shown(f"client steps of {label} beyond SIFU's", beyond)]

    return measure


def _beside_scratch(variant: str, what: str, change: Callable[[pd.Series], pd.Series], cost: str = "rounds") -> Measure:
    def measure(tables: Tables) -> list[Line]:
        def values(scenario: str) -> pd.Series:
            return change(share_of_scratch(tables, scenario, variant, cost))

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


def saved_and_lost(variant: str, label: str) -> Measure:
    """What a variant of SIFU saves; the average of what that is less than SIFU as published saves comes last."""

    def measure(tables: Tables) -> list[Line]:
        def lost(scenario: str) -> pd.Series:
            return _less_than(tables, scenario, "sifu", variant)

        lines = saved(variant, label)(tables)
        return [*lines, average(lines, "rounds saved by SIFU beyond that, on average", lost)]

    return measure


def _less_than(tables: Tables, scenario: str, one: str, other: str) -> pd.Series:
    """How many of scratch's rounds, as a share, `one` takes less than `other`, by seed."""
    return (share_of_scratch(tables, scenario, other) - share_of_scratch(tables, scenario, one)).dropna()


def survives(lines: list[Line]) -> Verdict:
    """Of the two averages the first is judged, beside what is lost."""
    own, lost = (line.value for line in lines if line.scenario == "")
    if own is None or lost is None:
        return Verdict.NOT_TESTABLE
    if own.low <= 0:
        return Verdict.FAILS
    return Verdict.HOLDS if lost.low <= 0 and not something_missing(lines) else Verdict.IN_PART


def alike(value: Measured) -> Verdict:
    if value.low >= -ALIKE and value.high <= ALIKE:
        return Verdict.HOLDS
    return Verdict.FAILS if value.low > ALIKE or value.high < -ALIKE else Verdict.IN_PART


def released_beside_published(tables: Tables) -> list[Line]:
    """What SIFU's released code saves more than SIFU as published."""

    def values(scenario: str) -> pd.Series:
        return _less_than(tables, scenario, "sifu_released", "sifu")

    what = "rounds saved by SIFU as released beyond SIFU's"
    lines = each_dataset(what, values, alike, ran=lambda name: tables.ran(name, "sifu_released"))
    return [*lines, average(lines, f"{what}, on average", values)]
