"""How many rounds a method takes compared with scratch: over all requests of a seed, to the target."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from sifu.replication.claims.claim import (
    COST_SECTION,
    NOT_IN_PAPER,
    Claim,
    Line,
    Measure,
    average,
    each_dataset,
    on_average,
    on_every_dataset,
    p_on_average,
    ran_all,
    shown,
    something_missing,
    unjudged,
)
from sifu.replication.claims.commands import rerun_cell
from sifu.replication.claims.labels import LABELS, in_words
from sifu.replication.claims.measured import Measured, above, at_most
from sifu.replication.claims.stored_tables import REFERENCE, StoredTables
from sifu.replication.claims.verdict import Rule, Verdict

FEWER, MORE = 0.52, 0.12  # the paper's averages
ALIKE = 0.05  # of scratch's rounds
_DATASET = "A dataset holds where its interval lies above 0."
_FEWER = f"Judged by the average. Holds: its interval reaches {FEWER:.0%}. Does not hold: it reaches 0. {_DATASET}"
FEWER_RULE = (
    f"{_FEWER} SIFU is that of the paper's code, which made its numbers. Not judged: its client steps, and SIFU as the "
    "text describes it, which counts sensitivity differently."
)
MORE_RULE = (
    f"Judged by the average. Holds: its interval contains {MORE:.0%}. Does not hold: it reaches 0. {_DATASET} Rounds "
    "are those that the paper's code counts: a calibrated round is r / dt of a round. Not judged: all rounds, each "
    "counted as one, and client steps."
)
STILL_MORE_RULE = (
    f"Judged by the average. Holds: its interval lies above 0. Does not hold: it reaches 0. {_DATASET} Cost is client "
    "steps, by which a [search](searches.md) chose dt and r, too: a calibration round may be shorter than a training "
    "round (r), and with dt = 1 every round of the training is calibrated. Not judged: rounds, and client steps "
    "compared with SIFU's. How well it forgets is no part of this claim."
)
SURVIVES_RULE = (
    "Judged by the average. Holds: it lies above 0, and nothing is lost compared with SIFU as described (the interval "
    f"of the difference, seed by seed, reaches 0). Does not hold: its interval reaches 0. {_DATASET} Cost is client "
    "steps, with those of spare clients in the training, without which there is no such certificate. Not judged: "
    "rounds, which do not count spare clients."
)
ALIKE_RULE = (
    "The share of scratch's rounds that the released code saves, minus the same of SIFU as described, seed by seed. A "
    f"dataset holds where the interval lies within {ALIKE:.0%} of 0, and does not where it lies outside."
)


def share_of_scratch(tables: StoredTables, scenario: str, variant: str, cost: str = "rounds") -> pd.Series:
    """A cost over scratch's, by seed."""
    return (tables.totals(scenario, variant, cost) / tables.totals(scenario, REFERENCE, cost)).dropna()


def above_zero(value: Measured) -> Verdict:
    return Verdict.HOLDS if value.low > 0 else Verdict.FAILS


ABOVE_ZERO = Rule(above_zero, holds=(above(0.0),))


def saved(variant: str, cost: str = "rounds") -> Measure:
    """The share of scratch's rounds, or another cost, that a method saves."""
    return _against_scratch(variant, saved_words(variant, cost), lambda share: 1 - share, cost)


def saved_words(variant: str, cost: str = "rounds") -> str:
    """The name of that number."""
    return f"{_words(cost)} saved by {LABELS[variant]}"


def extra_words(variant: str, cost: str) -> str:
    """The name of what a method costs beyond scratch."""
    return f"{_words(cost)} of {in_words(variant)} beyond scratch's"


def saved_as_released(tables: StoredTables) -> list[Line]:
    """What SIFU's released code saves, judged; then its client steps, and what SIFU as described saves."""
    released = "sifu_released"
    steps, described = saved(released, "client_steps"), saved("sifu")
    return [*saved(released)(tables), *unjudged(steps(tables)), *unjudged(described(tables))]


def extra(variant: str, cost: str) -> Measure:
    """What a method costs beyond scratch, as a share of scratch's cost; `cost` is the column that is judged.

    Rounds and client steps are shown after it.
    """
    first, *others = (
        _against_scratch(variant, extra_words(variant, name), lambda share: share - 1, name)
        for name in dict.fromkeys((cost, "rounds", "client_steps"))
    )
    return lambda tables: [*first(tables), *(line for other in others for line in unjudged(other(tables)))]


def _words(column: str) -> str:
    return column.replace("_", " ")


def extra_and_sifu(variant: str) -> Measure:
    """The same, judged by client steps, and the client steps beyond SIFU's."""

    def measure(tables: StoredTables) -> list[Line]:
        def beyond(scenario: str) -> pd.Series:
            own, sifu = (tables.totals(scenario, name, "client_steps") for name in (variant, "sifu"))
            return (own / sifu - 1).dropna()

        return [
            *extra(variant, "client_steps")(tables),
            *shown(f"client steps of {in_words(variant)} beyond SIFU's", beyond),
        ]

    return measure


def _against_scratch(
    variant: str, what: str, change: Callable[[pd.Series], pd.Series], cost: str = "rounds"
) -> Measure:
    def measure(tables: StoredTables) -> list[Line]:
        def values(scenario: str) -> pd.Series:
            return change(share_of_scratch(tables, scenario, variant, cost))

        lines = each_dataset(what, values, ABOVE_ZERO, ran=lambda name: tables.ran(name, variant))
        return [*lines, average(lines, what, values)]

    return measure


def saves_as_claimed(value: Measured) -> Verdict:
    if value.low <= 0:
        return Verdict.FAILS
    return Verdict.HOLDS if value.high >= FEWER else Verdict.IN_PART


def takes_as_claimed(value: Measured) -> Verdict:
    if value.low <= 0:
        return Verdict.FAILS
    return Verdict.HOLDS if value.low <= MORE <= value.high else Verdict.IN_PART


SAVES_AS_CLAIMED = Rule(saves_as_claimed, holds=(above(0.0),))
TAKES_AS_CLAIMED = Rule(takes_as_claimed, holds=(above(0.0),))


def saved_and_lost(variant: str) -> Measure:
    """The client steps that a variant of SIFU saves; how many more SIFU as described saves, on average; its rounds."""

    def measure(tables: StoredTables) -> list[Line]:
        def lost(scenario: str) -> pd.Series:
            return _less_than(tables, scenario, "sifu", variant, "client_steps")

        lines = saved(variant, "client_steps")(tables)
        beyond = average(lines, f"{saved_words('sifu', 'client_steps')} beyond that", lost)
        return [*lines, beyond, *unjudged(saved(variant)(tables))]

    return measure


def _less_than(tables: StoredTables, scenario: str, faster: str, slower: str, cost: str = "rounds") -> pd.Series:
    """How much less `faster` costs than `slower`, as a share of scratch's cost, by seed."""
    shares = [share_of_scratch(tables, scenario, name, cost) for name in (slower, faster)]
    return (shares[0] - shares[1]).dropna()


def survives(lines: list[Line]) -> Verdict:
    """Judged by the first average, and by what is lost (the second); undecided where their intervals differ."""
    own, lost, *_ = (line.value for line in lines if line.scenario == "")
    if own is None or lost is None:
        return Verdict.NOT_TESTABLE
    found = _survives(own, lost, lines)
    return found if found is _survives(own.student or own, lost.student or lost, lines) else Verdict.UNDECIDED


def _survives(own: Measured, lost: Measured, lines: list[Line]) -> Verdict:
    if own.low <= 0:
        return Verdict.FAILS
    return Verdict.HOLDS if lost.low <= 0 and not something_missing(lines) else Verdict.IN_PART


def alike(value: Measured) -> Verdict:
    if value.low >= -ALIKE and value.high <= ALIKE:
        return Verdict.HOLDS
    return Verdict.FAILS if value.low > ALIKE or value.high < -ALIKE else Verdict.IN_PART


ALIKE_OR_NOT = Rule(alike, holds=(above(-ALIKE), at_most(ALIKE)), fails=(above(ALIKE), at_most(-ALIKE)))


def released_against_described(tables: StoredTables) -> list[Line]:
    """What SIFU's released code saves more than SIFU as the text describes it."""

    def values(scenario: str) -> pd.Series:
        return _less_than(tables, scenario, "sifu_released", "sifu")

    both = ("sifu_released", "sifu")
    what = f"{saved_words(both[0])}, beyond {LABELS[both[1]]}"
    lines = each_dataset(what, values, ALIKE_OR_NOT, ran=lambda name: ran_all(tables, name, both))
    return [*lines, average(lines, what, values)]


SIFU_SAVES = Claim(
    "SIFU takes 52% fewer rounds than scratch",
    "52%",
    "We note that SIFU requires a sensibly lower number of iterations than Scratch (52% faster on average) to achieve "
    "similar unlearning performances.",
    COST_SECTION,
    saved_as_released,
    FEWER_RULE,
    on_average(SAVES_AS_CLAIMED),
    rerun_cell("mnist", "sifu_released"),
    p_on_average(SAVES_AS_CLAIMED),
    by_average=True,
)
FED_ERASER_TAKES_MORE = Claim(
    "FedEraser takes 12% more rounds than scratch",
    "12%",
    "FedEraser also provides comparable unlearning capabilities, while however requiring a higher number of "
    "iterations than Scratch (12% on average).",
    COST_SECTION,
    extra("fed_eraser_released", "counted_rounds"),
    MORE_RULE,
    on_average(TAKES_AS_CLAIMED),
    rerun_cell("mnist", "fed_eraser_released"),
    p_on_average(TAKES_AS_CLAIMED),
    by_average=True,
)
DESCRIBED_SIFU_SAVES = Claim(
    "SIFU, as the text describes it, takes as few rounds",
    "52%",
    "The claim on SIFU's rounds, with sensitivity counted as in the paper's text.",
    NOT_IN_PAPER,
    saved("sifu"),
    _FEWER,
    on_average(SAVES_AS_CLAIMED),
    rerun_cell("mnist", "sifu"),
    p_on_average(SAVES_AS_CLAIMED),
    by_average=True,
)
DESCRIBED_SAVES_AS_RELEASED = Claim(
    "SIFU, as the text describes it, saves what its released code saves",
    "-",
    "Rounds that the code's way of counting saves: Psi starts at zero on every branch.",
    NOT_IN_PAPER,
    released_against_described,
    ALIKE_RULE,
    on_every_dataset,
    rerun_cell("mnist", "sifu_released"),
)
STRICT_SIFU_SAVES = Claim(
    "SIFU's speed-up survives strict accounting",
    "-",
    "Client steps that SIFU saves when its certificate has to hold strictly.",
    NOT_IN_PAPER,
    saved_and_lost("sifu_strict"),
    SURVIVES_RULE,
    survives,
    rerun_cell("mnist", "sifu_strict"),
    p_on_average(ABOVE_ZERO),
    by_average=True,
)
CORRECTED_FED_ERASER_TAKES_MORE = Claim(
    "FedEraser, dt and r searched, still costs more than scratch",
    "-",
    "The claim on FedEraser's rounds, for what FedEraser's own paper describes, in client steps.",
    NOT_IN_PAPER,
    extra_and_sifu("fed_eraser_searched"),
    STILL_MORE_RULE,
    on_average(ABOVE_ZERO),
    rerun_cell("mnist", "fed_eraser_searched"),
    p_on_average(ABOVE_ZERO),
    by_average=True,
)
