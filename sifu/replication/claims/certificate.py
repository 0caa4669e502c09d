"""What a certificate is worth, strictly counted: all forgotten clients together, with the weights that were used."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from sifu.replication.claims.bound import held_strictly, hidden
from sifu.replication.claims.claim import (
    NOT_IN_PAPER,
    Claim,
    Line,
    Measure,
    Measured,
    Verdict,
    each_dataset,
    on_every_dataset,
    shown,
    unjudged,
)
from sifu.replication.claims.commands import rerun_cell
from sifu.replication.claims.stored_tables import StoredTables

MOST = 0.5  # of the promises
RULE = (
    "A promise, one a request, is kept where the actual delta at the claimed epsilon is at most the claimed one. A "
    f"dataset holds where all are kept, and does not where fewer than {MOST:.0%} are. The strict count still assumes "
    "that B = 1 bounds the contraction. Not judged, and without that assumption: a few clients a seed, each taken as "
    "the only one to forget. A client is hidden where, at the round that SIFU would go back to, the model is no "
    "further from that of a training without the client (alpha) than the noise hides. Clients that had not taken part "
    "by then are left out."
)
STRICT_RULE = (
    f"{RULE} Strict SIFU is built by the count that it is judged by, so it always keeps this promise. Therefore the "
    "measurement counts, too: a dataset is in part at best where strict Psi is below alpha at a point or was not "
    f"measured, and does not hold where fewer than {MOST:.0%} of the clients are hidden."
)


def kept(value: Measured) -> Verdict:
    if value.low == 1:
        return Verdict.HOLDS
    return Verdict.FAILS if value.mean < MOST else Verdict.IN_PART


def promise(variant: str, label: str, preset: str) -> Measure:
    """The share of promises that are kept, judged; then single clients that are hidden, counted by `preset`, and the
    worst delta and epsilon of a seed.
    """

    def measure(tables: StoredTables) -> list[Line]:
        def share(scenario: str) -> pd.Series:
            return (tables.promises(scenario, variant, "delta") <= 1).groupby("seed").mean()

        what = f"requests where {label} keeps its delta"
        lines = each_dataset(what, share, kept, ran=lambda name: tables.ran(name, variant))
        worst = [line for of in ("delta", "epsilon") for line in _worst(tables, variant, label, of)]
        alone = shown(f"single clients that {label} really hides", lambda name: hidden(tables, name, preset))
        return [*lines, *alone, *unjudged(worst)]

    return measure


def _worst(tables: StoredTables, variant: str, label: str, of: str) -> list[Line]:
    def values(scenario: str) -> pd.Series:
        return tables.promises(scenario, variant, of).groupby("seed").max()

    return each_dataset(f"worst actual over claimed {of} of {label} in a seed", values, kept, "times")


def strict_promise(tables: StoredTables) -> list[Line]:
    """The same of strict SIFU; its verdicts are limited by whether its count is a bound."""
    return [_bounded(tables, line) for line in promise("sifu_strict", "strict SIFU", "strict")(tables)]


def _bounded(tables: StoredTables, line: Line) -> Line:
    """The line with a verdict at best as good as the measurement allows."""
    if line.verdict not in (Verdict.HOLDS, Verdict.IN_PART):
        return line
    share = Measured.of(hidden(tables, line.scenario, "strict"))
    if share is not None and round(share.mean, 9) < MOST:  # a mean of thirds may be a bit below its value
        return replace(line, verdict=Verdict.FAILS)
    return line if held_strictly(tables, line.scenario) else replace(line, verdict=Verdict.IN_PART)


SIFU_KEEPS_ITS_PROMISE = Claim(
    "SIFU's certificate is worth what it says",
    "-",
    "The promise of SIFU as published, counted strictly: does the claimed delta hold?",
    NOT_IN_PAPER,
    promise("sifu", "SIFU", "published"),
    RULE,
    on_every_dataset,
    rerun_cell("mnist", "sifu"),
)
STRICT_SIFU_KEEPS_ITS_PROMISE = Claim(
    "Strict SIFU's certificate is worth what it says",
    "-",
    "The same promise, with noise and roll-back chosen by the strict count.",
    NOT_IN_PAPER,
    strict_promise,
    STRICT_RULE,
    on_every_dataset,
    rerun_cell("mnist", "sifu_strict"),
)
