"""Does SIFU cost the clients anything that plain rounds of FedAvg do not?"""

from __future__ import annotations

from functools import partial

import pandas as pd

from sifu.replication.claims.claim import Claim, Line, each_dataset, on_every_dataset, shown
from sifu.replication.claims.commands import rerun_cell
from sifu.replication.claims.labels import in_words
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.stored_tables import REFERENCE, StoredTables
from sifu.replication.claims.verdict import Rule, Verdict

ROUNDING = 1e-3  # of scratch's steps a round
RULE = (
    "Client steps of a round of SIFU as released over those of a round of scratch, minus 1, over all requests, with "
    f"what its certificate needs of the training. A dataset holds where the interval ends at or below {ROUNDING:g}, "
    "and does not where it begins above. The suite counts every step that a client is asked for, so this says what the "
    "method asks for, not how long clients take. Not judged: numbers sent a round, and strict SIFU, which trains spare "
    "clients to know who would have taken a seat. What the server keeps is in [methods.md](../methods.md)."
)


def nothing_added(value: Measured) -> Verdict:
    if value.high <= ROUNDING:
        return Verdict.HOLDS
    return Verdict.FAILS if value.low > ROUNDING else Verdict.IN_PART


NOTHING_ADDED = Rule(nothing_added)  # counted, not measured: no test


def added_cost(tables: StoredTables) -> list[Line]:
    """Client steps a round beyond scratch's, judged; then numbers sent, and the same of strict SIFU."""
    added, own = partial(_added, tables), "sifu_released"
    what = "{} a round of {} beyond scratch's"
    lines = each_dataset(
        what.format("client steps", in_words(own)),
        partial(added, own, "client_steps"),
        NOTHING_ADDED,
        ran=lambda name: tables.ran(name, own),
    )
    sent = shown(what.format("numbers sent", in_words(own)), partial(added, own, "comm_floats"))
    strict = shown(what.format("client steps", in_words("sifu_strict")), partial(added, "sifu_strict", "client_steps"))
    return [*lines, *sent, *strict]


def _added(tables: StoredTables, variant: str, cost: str, scenario: str) -> pd.Series:
    """A cost a round over scratch's, minus 1, by seed; no value without a round."""
    own, scratch = (_a_round(tables, scenario, name, cost) for name in (variant, REFERENCE))
    return (own / scratch - 1).dropna()


def _a_round(tables: StoredTables, scenario: str, variant: str, cost: str) -> pd.Series:
    rounds = tables.totals(scenario, variant, "rounds")
    return (tables.totals(scenario, variant, cost) / rounds)[rounds > 0]


NO_ADDED_COST = Claim(
    "SIFU costs the clients nothing more",
    "nothing",
    "SIFU naturally applies to FedAvg without additional computational cost for the clients and provides formal "
    "guarantees on the quality of the unlearning task.",
    "abstract",
    added_cost,
    RULE,
    on_every_dataset,
    rerun_cell("mnist", "sifu_released"),
)
