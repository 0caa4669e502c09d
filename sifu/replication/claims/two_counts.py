"""Promises by two counts of the same answers: the seats of forgotten clients left empty, as before, and refilled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import pandas as pd

from sifu.replication.claims.certificate import KEPT
from sifu.replication.claims.claim import judged
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.verdict import Verdict
from sifu.report.judged_promises import judged_promises
from sifu.report.privacy_points import ROUNDING, claimed_ratio, promised_psi, psi_over_sigma

_COUNTS = ["empty_psi", "strict_psi"]
_BY_COLUMN = {"empty": "empty_psi", "refilled": "strict_psi", "measured": "alpha"}
_ratio_of = cache(claimed_ratio)


class Kept(NamedTuple):
    """In how many seeds every promise is kept, and the verdict that follows as for a claim."""

    verdict: Verdict
    kept: int
    seeds: int  # that have a count


@dataclass(frozen=True)
class TwoCounts:
    """The promises of a method in a scenario; None: that count is not stored."""

    scenario: str
    variant: str
    empty: Kept | None  # for all clients of a request together, with empty seats
    refilled: Kept | None  # the same with refilled seats
    promised: Kept | None  # refilled, for whom the promise is made
    measured: Kept | None  # by alpha, for all clients of a request together
    factor: float  # refilled Psi over empty one, the median of answers; nan without one


@dataclass(frozen=True)
class AllPromises:
    """Every scenario and method that promises something stands in one of these lists."""

    counted: list[TwoCounts]
    exact: list[tuple[str, str]]  # no noise, and nothing to hide by both counts
    uncounted: list[tuple[str, str]]  # by neither
    diverged: list[tuple[str, str]]  # in every seed, and not counted


def all_promises(cells: pd.DataFrame) -> AllPromises:
    """Answers to the target, a scenario and method at a time."""
    found = AllPromises([], [], [], [])
    promising = cells[(cells["stop"] == "target") & cells["claimed_epsilon"].notna()]
    for (scenario, variant), rows in promising.groupby(["scenario", "variant"]):
        key, answers = (str(scenario), str(variant)), judged_promises(rows)
        if answers.empty:
            found.diverged.append(key)
        elif answers[_COUNTS].isna().all(axis=None):
            found.uncounted.append(key)
        elif answers[["sigma", *_COUNTS]].eq(0).all(axis=None):
            found.exact.append(key)
        else:
            found.counted.append(_two_counts(*key, answers, rows["seed"].nunique()))
    return found


def _two_counts(scenario: str, variant: str, answers: pd.DataFrame, ran: int) -> TwoCounts:
    counts = {name: _within(answers, answers[column]) for name, column in _BY_COLUMN.items()}
    counts["promised"] = _as_promised(answers)
    kept = {name: _by_seed(within, answers["seed"], ran) for name, within in counts.items()}
    some = answers[answers["empty_psi"] > 0]
    return TwoCounts(scenario, variant, **kept, factor=float((some["strict_psi"] / some["empty_psi"]).median()))


def _within(answers: pd.DataFrame, psi: pd.Series) -> pd.Series:
    """Whether the noise hides as much as is claimed: 1 or 0, nan where Psi is not known."""
    claims = zip(answers["claimed_epsilon"].astype(float), answers["claimed_delta"].astype(float), strict=True)
    hidden = pd.Series([_ratio_of(*claim) for claim in claims], answers.index)
    ratio = psi_over_sigma(psi, answers["sigma"])
    return (ratio <= hidden * (1 + ROUNDING)).astype(float).where(ratio.notna() & hidden.notna())


def _as_promised(answers: pd.DataFrame) -> pd.Series:
    """For whom each promise is made; by the accountant's epsilon where every round adds noise."""
    spent, claimed = answers["spent_epsilon"].astype(float), answers["claimed_epsilon"].astype(float)
    accounted = (spent <= claimed * (1 + ROUNDING)).astype(float)
    return _within(answers, promised_psi(answers)).where(spent.isna(), accounted)


def _by_seed(within: pd.Series, seeds: pd.Series, ran: int) -> Kept | None:
    value = Measured.share(within.dropna().groupby(seeds).min())
    if value is None:
        return None
    return Kept(judged(value, ran, KEPT), round(value.mean * value.seeds), value.seeds)
