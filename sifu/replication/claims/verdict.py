"""Verdicts: by a rule on one number, by both of its intervals, and the p-values of what the rule tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from sifu.replication.claims.measured import Measured, Side


class Verdict(Enum):
    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    UNDECIDED = "undecided"  # the two intervals, or the adjustment for many claims, say different things
    NOT_TESTABLE = "not testable"  # also of a dataset that was run, but has nothing to measure
    NOT_RUN = "not run"  # of a dataset, never of a claim


Judge = Callable[[Measured], Verdict]


class PValues(NamedTuple):
    """One-sided p-values: that a claim holds, and that it does not; None where a rule tests nothing of the kind."""

    holds: float | None = None
    fails: float | None = None


NO_TEST = PValues()


@dataclass(frozen=True)
class Rule:
    """How a number is judged, and which one-sided tests the verdict rests on."""

    judge: Judge
    holds: tuple[Side, ...] = ()  # all of them must be shown for it to hold
    fails: tuple[Side, ...] = ()  # one of them is enough for it not to hold

    def verdict(self, value: Measured) -> Verdict:
        """By the interval, and by Student's where there are few seeds: undecided where the two differ."""
        found, student = self.judge(value), value.student
        if student is None or self.judge(student) is found:
            return found
        return Verdict.UNDECIDED

    def p_values(self, value: Measured) -> PValues:
        """All sides of `holds` have to be shown, so their largest p counts. Of `fails` any, so the smallest does, times
        their number (Bonferroni).
        """
        holds, fails = (_known(side.p_value(value) for side in sides) for sides in (self.holds, self.fails))
        return PValues(max(holds, default=None), min(1.0, min(fails) * len(fails)) if fails else None)


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
