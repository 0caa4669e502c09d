"""What a certificate is worth, strictly counted: all leavers together, with the weights that were used."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from sifu.claims.bound import held_strictly
from sifu.claims.claim import EVERY_DATASET, Line, Measure, Measured, Verdict, each_dataset, unjudged
from sifu.claims.tables import Tables

MOST = 0.5  # of the promises
WORDS = (
    "A promise, one a request, is kept where the actual delta at the claimed epsilon is at most the claimed one. A "
    f"dataset holds where all are kept, does not where fewer than {MOST:.0%} are, and is in part between. "
    f"{EVERY_DATASET} What is strictly counted still assumes that B = 1 bounds the contraction."
)
STRICT_WORDS = (
    f"{WORDS} Chosen by the count that it is judged by, this promise is kept by construction; whether the count itself "
    "bounds what clients did is measured: a dataset where strict Psi is below alpha at a point is in part at best."
)


def kept(value: Measured) -> Verdict:
    if value.low == 1:
        return Verdict.HOLDS
    return Verdict.FAILS if value.mean < MOST else Verdict.IN_PART


def promise(variant: str, label: str) -> Measure:
    """The share of promises that are kept, judged; the worst delta and epsilon of a seed, beside it."""

    def measure(tables: Tables) -> list[Line]:
        def share(scenario: str) -> pd.Series:
            return (tables.promises(scenario, variant, "delta") <= 1).groupby("seed").mean()

        what = f"requests where {label} keeps its delta"
        lines = each_dataset(what, share, kept, ran=lambda name: tables.ran(name, variant))
        beside = [line for of in ("delta", "epsilon") for line in _worst(tables, variant, label, of)]
        return [*lines, *(line for line in unjudged(beside) if line.value is not None)]

    return measure


def _worst(tables: Tables, variant: str, label: str, of: str) -> list[Line]:
    def values(scenario: str) -> pd.Series:
        return tables.promises(scenario, variant, of).groupby("seed").max()

    return each_dataset(f"worst actual over claimed {of} of {label} in a seed", values, kept, "times")


def strict_promise(tables: Tables) -> list[Line]:
    """The same of strict SIFU, as far as its count is a bound."""
    return [_bounded(tables, line) for line in promise("sifu_strict", "strict SIFU")(tables)]


def _bounded(tables: Tables, line: Line) -> Line:
    if line.verdict is Verdict.HOLDS and not held_strictly(tables, line.scenario):
        return replace(line, verdict=Verdict.IN_PART)
    return line
