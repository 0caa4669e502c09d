"""Does SIFU save rounds because it keeps a part of the training, or because it adds noise?

Blurred scratch starts from the initial model with SIFU's noise on it, and keeps nothing of the training. What it saves
comes from the noise alone.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from sifu.replication.claims.claim import (
    NOT_IN_PAPER,
    Claim,
    Line,
    each_dataset,
    on_every_dataset,
    ran_all,
    unjudged,
)
from sifu.replication.claims.commands import rerun_cell
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.rounds import saved, saved_words, share_of_scratch
from sifu.replication.claims.stored_tables import StoredTables
from sifu.replication.claims.verdict import Rule, Verdict

FROM_NOISE = "blurred_scratch"
START = 10  # rounds; trainings take hundreds
_SAVED = saved_words(FROM_NOISE)
_RESTART = f"{saved_words('sifu_strict')}, in seeds where it goes back to round {START} or earlier"
RULE = (
    "Blurred scratch, a start from noise alone: the initial model with SIFU's noise on it, which keeps nothing of the "
    "training. A dataset holds where the interval of the share of scratch's rounds that it saves reaches 0, and does "
    "not where it saves at least half of what SIFU, as the text describes it, saves (their means). Where SIFU has no "
    "number, there is nothing to explain. Not judged: SIFU; strict SIFU in seeds where every request goes back to "
    f"round {START} or earlier, so that it differs from scratch by little but noise; and exact roll-back, which adds "
    "no noise."
)


def history_saves(tables: StoredTables) -> list[Line]:
    """What a start from noise alone saves, judged; then what SIFU, a restart and a roll-back without noise save."""
    own = saved("sifu")(tables)
    exact = saved("exact_rollback")(tables)
    lines = each_dataset(
        _SAVED,
        lambda name: 1 - share_of_scratch(tables, name, FROM_NOISE),
        SAVES_NOTHING,
        ran=lambda name: ran_all(tables, name, (FROM_NOISE, "sifu")),
    )
    saved_by_sifu = {line.scenario: line for line in own}
    judged = [_half(line, saved_by_sifu[line.scenario]) for line in lines]
    restarts = each_dataset(
        _RESTART, lambda name: _restarts(tables, name), SAVES_NOTHING, ran=lambda name: tables.ran(name, "sifu_strict")
    )
    return [*judged, *unjudged(line for line in (*restarts, *own, *exact) if line.scenario)]


def _restarts(tables: StoredTables, scenario: str) -> pd.Series:
    """What strict SIFU saves in seeds where it never kept more than the first rounds."""
    kept = tables.went_back_to(scenario, "sifu_strict")
    share = 1 - share_of_scratch(tables, scenario, "sifu_strict")
    return share[share.index.isin(kept.index[kept <= START])]


def saves_nothing(value: Measured) -> Verdict:
    return Verdict.HOLDS if value.low <= 0 else Verdict.IN_PART


SAVES_NOTHING = Rule(saves_nothing)  # that nothing is shown is no test


def _half(line: Line, sifu: Line) -> Line:
    """The line, not testable where SIFU is not; not holding where noise alone saves half of what SIFU saves."""
    if line.verdict is None or line.value is None:
        return line
    if sifu.value is None or sifu.verdict is Verdict.NOT_TESTABLE:
        return replace(line, verdict=Verdict.NOT_TESTABLE if sifu.ran else Verdict.NOT_RUN)
    enough = line.value.low > 0 and line.value.mean >= sifu.value.mean / 2
    return replace(line, verdict=Verdict.FAILS) if enough and line.verdict is Verdict.IN_PART else line


HISTORY_SAVES = Claim(
    "SIFU's speed-up comes from what it keeps of the training",
    "-",
    "Rounds that a start from the noise that SIFU adds saves without anything of the training.",
    NOT_IN_PAPER,
    history_saves,
    RULE,
    on_every_dataset,
    rerun_cell("mnist", FROM_NOISE),
)
