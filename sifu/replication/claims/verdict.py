"""Verdicts: by a rule on one number, by both of its intervals, and the p-values of what the rule tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from sifu.core.intervals import LEVEL
from sifu.replication.claims.measured import Measured, Side

LIMIT = (1 - LEVEL) / 2  # of a one-sided p-value: each side of an interval errs so often


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
    chosen_from: int = 1  # numbers of which the one judged is the least: each of them could fail the rule

    def verdict(self, value: Measured) -> Verdict:
        """By the interval, and by Student's where there are few seeds: undecided where the two differ, and where the
        number fails only because it is the least of several.
        """
        found, student = self.judge(value), value.student
        if student is not None and self.judge(student) is not found:
            return Verdict.UNDECIDED
        return Verdict.UNDECIDED if found is Verdict.FAILS and self._least_by_chance(value) else found

    def _least_by_chance(self, value: Measured) -> bool:
        fails = self.p_values(value).fails
        return self.chosen_from > 1 and fails is not None and fails > LIMIT

    def p_values(self, value: Measured) -> PValues:
        """All sides of `holds` have to be shown, so their largest p counts. Of `fails` any, so the smallest does, times
        their number, and times that of the numbers chosen from (Bonferroni).
        """
        holds, fails = (_known(side.p_value(value) for side in sides) for sides in (self.holds, self.fails))
        return PValues(
            max(holds, default=None), min(1.0, min(fails) * len(fails) * self.chosen_from) if fails else None
        )


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
