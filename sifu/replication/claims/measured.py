"""A measured number: its mean over seeds, its intervals, and one-sided tests against a threshold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from sifu.core.intervals import clopper_pearson, student, student_tail
from sifu.report.statistics import WITH_STUDENT, bootstrap_intervals, standard_error

_ROUNDING = 1e-12  # of sums of equal numbers


@dataclass(frozen=True)
class Measured:
    """A mean over seeds and its 95% interval: the bootstrap's, or the exact one of a share of seeds."""

    mean: float
    low: float
    high: float
    seeds: int
    error: float | None = None  # standard error of the mean; None: a share or a range, which has no t test

    @staticmethod
    def of(values: pd.Series) -> Measured | None:
        """The mean and the bootstrap's interval of one value a seed; None without a seed."""
        numbers = values.dropna().to_numpy(np.float64)
        if not len(numbers):
            return None
        ((low, high),) = bootstrap_intervals([numbers])
        error = standard_error(numbers) if np.isfinite(numbers).all() else None
        return Measured(float(numbers.mean()), low, high, len(numbers), error)

    @staticmethod
    def share(values: pd.Series) -> Measured | None:
        """The share of seeds whose value is 1, where the others have 0, and its exact interval (Clopper, Pearson)."""
        numbers = values.dropna().to_numpy(np.float64)
        if not len(numbers):
            return None
        return Measured(float(numbers.mean()), *clopper_pearson(round(numbers.sum()), len(numbers)), len(numbers))

    @staticmethod
    def in_range(values: pd.Series) -> Measured | None:
        """The mean with the least and the largest value: for shares within a seed, whose parts are not independent, so
        that a mean of ones is not known to be one.
        """
        numbers = values.dropna().to_numpy(np.float64)
        if not len(numbers):
            return None
        return Measured(float(numbers.mean()), float(numbers.min()), float(numbers.max()), len(numbers))

    @property
    def student(self) -> Measured | None:
        """The same with Student's interval; None over many seeds, where the bootstrap's is as good, and for shares."""
        if self.error is None or self.seeds > WITH_STUDENT:
            return None
        low, high = student(self.mean, self.error, self.seeds)
        return replace(self, low=low, high=high)


class Side(NamedTuple):
    """A one-sided statement on a mean: above a threshold, or not above it."""

    above: bool
    threshold: float

    def p_value(self, value: Measured) -> float | None:
        """That of the t test over seeds; None for a number that has none."""
        if value.error is None:
            return None
        distance = (value.mean - self.threshold) if self.above else (self.threshold - value.mean)
        if value.error > _ROUNDING:
            return student_tail(distance, value.error, value.seeds)
        if abs(distance) <= _ROUNDING:
            return float(self.above)  # all seeds at the threshold: not above it
        return student_tail(distance, 0.0, value.seeds)


def above(threshold: float) -> Side:
    return Side(True, threshold)


def at_most(threshold: float) -> Side:
    return Side(False, threshold)
