"""Is it what SIFU keeps of a training that saves rounds, or the noise that it adds?

Strict SIFU often has to go back to the first rounds and starts, blurred, almost from nothing: what that saves beside
scratch, which starts there without noise, no history has saved.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from sifu.replication.claims.claim import EVERY_DATASET, SOME_SEEDS, Line, Measured, Verdict, each_dataset, unjudged
from sifu.replication.claims.rounds import saved, share_of_scratch
from sifu.replication.claims.tables import Tables

START = 10  # rounds; trainings take hundreds
WORDS = (
    f"A restart: strict SIFU in seeds where it goes back to round {START} or before at every request, so that little "
    "but noise tells it from scratch. A dataset holds where the interval of the share of scratch's rounds that a "
    "restart saves reaches 0, does not where a restart saves at least half of what SIFU saves (their means), and is in "
    f"part between. Seeds that it keeps more in do not count. {SOME_SEEDS} {EVERY_DATASET} "
    "Beside it SIFU, and exact roll-back, which adds no noise."
)


def history_saves(tables: Tables) -> list[Line]:
    """What a blurred restart saves, judged; what SIFU and a roll-back without noise save, beside it."""
    lines = each_dataset(
        "rounds saved by a blurred restart",
        lambda name: _restarts(tables, name),
        saves_nothing,
        ran=lambda name: tables.ran(name, "sifu_strict"),
    )
    own, exact = (saved(*named)(tables) for named in (("sifu", "SIFU"), ("exact_rollback", "exact roll-back")))
    whole = {line.scenario: line.value for line in own}
    judged = [_half(line, whole[line.scenario]) for line in lines]
    return [*judged, *unjudged(line for line in (*own, *exact) if line.scenario)]


def _restarts(tables: Tables, scenario: str) -> pd.Series:
    """What strict SIFU saves in seeds where it never kept more than the first rounds."""
    kept = tables.went_back_to(scenario, "sifu_strict")
    share = 1 - share_of_scratch(tables, scenario, "sifu_strict")
    return share[share.index.isin(kept.index[kept <= START])]


def saves_nothing(value: Measured) -> Verdict:
    return Verdict.HOLDS if value.low <= 0 else Verdict.IN_PART


def _half(line: Line, whole: Measured | None) -> Line:
    """Does not hold where noise alone saves half of what SIFU does."""
    if line.verdict is not Verdict.IN_PART or line.value is None or whole is None or line.value.low <= 0:
        return line
    return replace(line, verdict=Verdict.FAILS) if line.value.mean >= whole.mean / 2 else line
