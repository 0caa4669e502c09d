"""What a certificate is worth, strictly counted: all leavers together, with the weights that were used."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from sifu.replication.claims.bound import held_strictly, hidden
from sifu.replication.claims.claim import EVERY_DATASET, Line, Measure, Measured, Verdict, each_dataset, shown, unjudged
from sifu.replication.claims.tables import Tables

MOST = 0.5  # of the promises
WORDS = (
    "A promise, one a request, is kept where the actual delta at the claimed epsilon is at most the claimed one. A "
    f"dataset holds where all are kept, does not where fewer than {MOST:.0%} are, and is in part between. "
    f"{EVERY_DATASET} What is strictly counted still assumes that B = 1 bounds the contraction. Beside it a "
    "measurement that does not, of a few clients a seed: each is taken as the only one to leave, and is hidden where, "
    "at the round that SIFU would go back to, the model is no further from that of a training without the client "
    "(alpha) than the noise hides, exactly counted. Who had done nothing by then has nothing to hide, and is left out."
)
STRICT_WORDS = (
    f"{WORDS} Chosen by the count that it is judged by, this promise is kept by construction; so it is also judged by "
    "what is measured: a dataset where strict Psi is below alpha at a point, or was not measured, is in part at best, "
    f"and does not hold where fewer than {MOST:.0%} of the clients are hidden."
)


def kept(value: Measured) -> Verdict:
    if value.low == 1:
        return Verdict.HOLDS
    return Verdict.FAILS if value.mean < MOST else Verdict.IN_PART


def promise(variant: str, label: str, rule: str) -> Measure:
    """The share of promises that are kept, judged; beside it single clients that are really hidden, by a `rule` of
    counting, and the worst delta and epsilon of a seed.
    """

    def measure(tables: Tables) -> list[Line]:
        def share(scenario: str) -> pd.Series:
            return (tables.promises(scenario, variant, "delta") <= 1).groupby("seed").mean()

        what = f"requests where {label} keeps its delta"
        lines = each_dataset(what, share, kept, ran=lambda name: tables.ran(name, variant))
        beside = [line for of in ("delta", "epsilon") for line in _worst(tables, variant, label, of)]
        alone = shown(f"single clients that {label} really hides", lambda name: hidden(tables, name, rule))
        return [*lines, *alone, *unjudged(beside)]

    return measure


def _worst(tables: Tables, variant: str, label: str, of: str) -> list[Line]:
    def values(scenario: str) -> pd.Series:
        return tables.promises(scenario, variant, of).groupby("seed").max()

    return each_dataset(f"worst actual over claimed {of} of {label} in a seed", values, kept, "times")


def strict_promise(tables: Tables) -> list[Line]:
    """The same of strict SIFU, as far as its count is a bound."""
    return [_bounded(tables, line) for line in promise("sifu_strict", "strict SIFU", "strict")(tables)]


def _bounded(tables: Tables, line: Line) -> Line:
    """At best what the measurement says of its count."""
    if line.verdict not in (Verdict.HOLDS, Verdict.IN_PART):
        return line
    found = Measured.of(hidden(tables, line.scenario, "strict"))
    if found is not None and round(found.mean, 9) < MOST:  # a mean of thirds may be a bit below what it is
        return replace(line, verdict=Verdict.FAILS)
    return line if held_strictly(tables, line.scenario) else replace(line, verdict=Verdict.IN_PART)
