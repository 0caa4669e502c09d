"""Does SIFU save rounds because it keeps a part of the training, or because it adds noise?

Strict SIFU often goes back to the first rounds and starts from almost nothing, with noise. Scratch starts there without
noise. So the rounds that strict SIFU saves there come from the noise, not from the history.
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
from sifu.replication.claims.rounds import saved, share_of_scratch
from sifu.replication.claims.stored_tables import StoredTables
from sifu.replication.claims.verdict import Rule, Verdict

START = 10  # rounds; trainings take hundreds
RULE = (
    f"A restart: strict SIFU in seeds where it goes back to round {START} or earlier at every request, so that it "
    "differs from scratch by little but noise. A dataset holds where the interval of the share of scratch's rounds "
    "that a restart saves reaches 0, and does not where a restart saves at least half of what SIFU saves (their "
    "means). Seeds in which strict SIFU keeps more do not count. Not judged: SIFU, and exact roll-back, which adds no "
    "noise."
)


def history_saves(tables: StoredTables) -> list[Line]:
    """What a restart with noise saves, judged; then what SIFU and a roll-back without noise save."""
    lines = each_dataset(
        "rounds saved by a restart with noise",
        lambda name: _restarts(tables, name),
        SAVES_NOTHING,
        ran=lambda name: ran_all(tables, name, ("sifu_strict", "sifu")),
    )
    own, exact = (saved(*named)(tables) for named in (("sifu", "SIFU"), ("exact_rollback", "exact roll-back")))
    saved_by_sifu = {line.scenario: line.value for line in own}
    judged = [_half(line, saved_by_sifu[line.scenario]) for line in lines]
    return [*judged, *unjudged(line for line in (*own, *exact) if line.scenario)]


def _restarts(tables: StoredTables, scenario: str) -> pd.Series:
    """What strict SIFU saves in seeds where it never kept more than the first rounds."""
    kept = tables.went_back_to(scenario, "sifu_strict")
    share = 1 - share_of_scratch(tables, scenario, "sifu_strict")
    return share[share.index.isin(kept.index[kept <= START])]


def saves_nothing(value: Measured) -> Verdict:
    return Verdict.HOLDS if value.low <= 0 else Verdict.IN_PART


SAVES_NOTHING = Rule(saves_nothing)  # that nothing is shown is no test


def _half(line: Line, sifu: Measured | None) -> Line:
    """The line with the verdict that it does not hold, where noise alone saves half of what SIFU saves."""
    if line.verdict is not Verdict.IN_PART or line.value is None or sifu is None or line.value.low <= 0:
        return line
    return replace(line, verdict=Verdict.FAILS) if line.value.mean >= sifu.mean / 2 else line


HISTORY_SAVES = Claim(
    "SIFU's speed-up comes from what it keeps of the training",
    "-",
    "Rounds that a start from next to nothing saves with the noise that SIFU adds.",
    NOT_IN_PAPER,
    history_saves,
    RULE,
    on_every_dataset,
    rerun_cell("mnist", "sifu_strict"),
)
