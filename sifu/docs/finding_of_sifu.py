"""The README's finding on SIFU: what it costs, what it forgets, and what noise alone would save."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from sifu.docs.by_twins import TwinTest, in_sentences
from sifu.docs.totals_in_words import (
    OF_SCRATCH,
    above_scratch,
    cost_range,
    listed,
    off_scratch,
    unanswered,
    with_cost,
    within,
)
from sifu.replication.claims.forgetting import BEYOND
from sifu.replication.claims.restart import FROM_NOISE
from sifu.replication.claims.stored_tables import DATASETS

_LEAST = 0.005  # a saving that is not written as 0%


def finding_of_sifu(
    totals: pd.DataFrame,
    marked: pd.DataFrame,
    tests: list[TwinTest],
    titles: dict[str, str],
    unclipped: Collection[tuple[str, str]] = (),
    *,
    short: bool = False,
) -> str:
    """The whole finding; `totals` are of the paper's datasets, `marked` of scenarios whose clients carry marks.

    `unclipped`: scenarios and variants whose rows lack the clipping of the released code. `short`: what it costs, where
    it does not recover, whether its clients are found, and what noise alone would save.
    """
    rows, released, from_noise = (_of(totals, name) for name in ("sifu", "sifu_released", FROM_NOISE))
    sifu = with_cost(rows)
    if not len(sifu):
        return "**SIFU was not run.**"
    cheaper = "SIFU is cheaper" if (sifu["cost"] < 1).all() else "SIFU is not always cheaper"
    marks = with_cost(_of(marked, "sifu"))["gap"].dropna()
    remembers = any(test.forgotten == "no" for test in tests) or bool((marks > BEYOND).any())
    traces = ", but traces of the clients remain" if remembers else ""
    cost = f"As the text describes it, SIFU takes {cost_range(sifu, OF_SCRATCH)}."
    found, start = in_sentences(tests, explained=True), _by_noise(with_cost(from_noise), titles)
    text = f"**{cheaper} than training again{traces}.** {cost}{unanswered(rows, titles, unclipped)}"
    if short:
        return f"{text}{found}{start}"
    return f"{text} {off_scratch(sifu)}{_on_marks(marks)}{found}{_as_released(with_cost(released))}{start}"


def _of(totals: pd.DataFrame, variant: str) -> pd.DataFrame:
    return totals[totals["variant"] == variant]


def _on_marks(gaps: pd.Series) -> str:
    if gaps.empty:
        return ""
    scenarios = "1 scenario" if len(gaps) == 1 else f"{len(gaps)} scenarios"
    return f" Where clients carry watermarks or backdoors, it is {above_scratch(gaps)} scratch's ({scenarios})."


def _as_released(released: pd.DataFrame) -> str:
    """What the paper's code takes, and a bound of its own on accuracy."""
    if released.empty:
        return ""
    gaps = released["gap"].dropna()
    known = f", with an accuracy on forgotten clients within {within(gaps)} of scratch's" if len(gaps) else ""
    return f" As the paper's code has it, SIFU takes {cost_range(released)}{known}."


def _by_noise(rows: pd.DataFrame, titles: dict[str, str]) -> str:
    """What Blurred scratch, a start from noise alone, saves, and on which datasets."""
    shares = 1 - rows.set_index("scenario")["cost"]
    named = {name: shares[name] for name in DATASETS if name in shares}
    saving = {titles[name]: share for name, share in named.items() if share >= _LEAST}
    others = [titles[name] for name, share in named.items() if share < _LEAST]
    if not named:
        return ""
    start = " Blurred scratch, a retraining from a noised start that keeps nothing of the training,"
    if not saving:
        return f"{start} saves nothing ({listed(others)})."
    low, high = f"{min(saving.values()):.0%}", f"{max(saving.values()):.0%}"
    share = low if low == high else f"{low} to {high}"
    nothing = f" On {listed(others)} it saves nothing." if others else ""
    return f"{start} saves {share}{OF_SCRATCH} on {listed([*saving])}.{nothing}"
