"""Holm's adjustment: many claims are judged on one page, and some would hold by chance.

Where a rule asks whether an interval lies beyond a threshold, it is a test, and has a one-sided p-value: that of
Student's t test over seeds, of numbers paired with scratch's in the same seed. A claim about every dataset has the
largest p of its datasets, as all of them must show it. A claim has the p-value that it holds or, where its verdict is
that it does not and that is a test, too, the one for that. Holm (1979) multiplies the smallest of m p-values by m, the
next by m - 1, and so on, so that the chance of any wrong verdict among all is at most that of a single one.

Each side of a 95% interval errs with 2.5%, so that is the limit of a p-value here. A rule that is no test, such as a
share of seeds, has no p-value, and is not adjusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sifu.replication.claims.claim import Claim, Line
from sifu.replication.claims.verdict import LIMIT, Verdict


class Judgement(NamedTuple):
    """The verdict on a claim after the adjustment, and its p-value before and after."""

    verdict: Verdict
    p: float | None  # None: judged by a rule that is no test
    adjusted: float | None


def judgements(claims: tuple[Claim, ...], lines: Mapping[str, list[Line]]) -> dict[str, Judgement]:
    """The judgement on every claim of a page, by its name; `lines` are what was measured for each."""
    verdicts = {claim.name: claim.judge(lines[claim.name]) for claim in claims}
    found = {claim.name: _p_value(claim, verdicts[claim.name], lines[claim.name]) for claim in claims}
    adjusted = holm({name: p for name, (p, _) in found.items() if p is not None})
    return {
        name: Judgement(_adjusted(verdicts[name], p, adjusted.get(name), is_test=is_test), p, adjusted.get(name))
        for name, (p, is_test) in found.items()
    }


def _p_value(claim: Claim, verdict: Verdict, lines: list[Line]) -> tuple[float | None, bool]:
    """The p-value that goes with a verdict, and whether the verdict says that something was shown by it."""
    p = claim.p_values(lines)
    if verdict is Verdict.FAILS:
        return (p.holds, False) if p.fails is None else (p.fails, True)
    return p.holds, True


def _adjusted(verdict: Verdict, p: float | None, adjusted: float | None, *, is_test: bool) -> Verdict:
    """Undecided where a verdict would need a smaller p-value than the adjustment leaves.

    A claim in part may never have been shown on all datasets; it is undecided only if the adjustment took that away.
    """
    if p is None or adjusted is None or adjusted <= LIMIT or not is_test:
        return verdict
    if verdict in (Verdict.HOLDS, Verdict.FAILS) or (verdict is Verdict.IN_PART and p <= LIMIT):
        return Verdict.UNDECIDED
    return verdict


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjusted p-values: none is smaller than that of a smaller p."""
    largest, found = 0.0, {}
    for place, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, p * (len(p_values) - place)))
        found[name] = largest
    return found
