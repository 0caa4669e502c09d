"""A measured number: its mean over seeds, its intervals, and one-sided tests against a threshold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sifu.core.intervals import clopper_pearson, student, student_tail
from sifu.report.statistics import WITH_STUDENT, bootstrap_average, bootstrap_intervals, standard_error

_ROUNDING = 1e-12  # of sums of equal numbers


@dataclass(frozen=True)
class Measured:
    """A mean over seeds and its 95% interval: the bootstrap's, or the exact one of a share of seeds; or a range."""

    mean: float
    low: float
    high: float
    seeds: int
    error: float | None = None  # standard error of the mean; None: a share or a range, which has no t test
    freedom: float | None = None  # degrees of freedom of the t test; None: one less than seeds
    is_range: bool = False  # `low` and `high` are the least and the largest seed, no interval

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
    def of_datasets(parts: list[pd.Series]) -> Measured | None:
        """The mean of datasets' means, one value a seed each; None without a dataset.

        Seed by seed where all have the same seeds, as a seed draws the same cohorts of as many clients. Otherwise each
        dataset counts with all seeds that it has: the t test is Welch's, the bootstrap draws within a dataset. `seeds`
        are those of the dataset with fewest.
        """
        known = [values.dropna() for values in parts]
        if not known or min(map(len, known)) == 0:
            return None
        if all(values.index.equals(known[0].index) for values in known):
            return Measured.of(pd.DataFrame(dict(enumerate(known))).mean(axis=1))
        numbers = [values.to_numpy(np.float64) for values in known]
        mean, fewest = float(np.mean([values.mean() for values in numbers])), min(map(len, numbers))
        if not all(np.isfinite(values).all() for values in numbers):
            return Measured(mean, mean, mean, fewest)
        errors = np.array([standard_error(values) for values in numbers])
        error = float(np.sqrt((errors**2).sum()) / len(numbers))
        return Measured(mean, *bootstrap_average(numbers), fewest, error, _welch(errors, [*map(len, numbers)]))

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
        low, high = float(numbers.min()), float(numbers.max())
        return Measured(float(numbers.mean()), low, high, len(numbers), is_range=True)

    @staticmethod
    def median(values: pd.Series) -> Measured | None:
        """The median with the least and the largest value, as a single one may be infinite; None without a value."""
        if not len(values):
            return None
        low, high = float(values.min()), float(values.max())
        return Measured(float(values.median()), low, high, len(values), is_range=True)

    @property
    def student(self) -> Measured | None:
        """The same with Student's interval; None over many seeds, where the bootstrap's is as good, and for shares."""
        if self.error is None or self.seeds > WITH_STUDENT:
            return None
        low, high = student(self.mean, self.error, self.tested)
        return replace(self, low=low, high=high)

    @property
    def tested(self) -> float:
        """Values of a t test: one more than its degrees of freedom."""
        return self.seeds if self.freedom is None else self.freedom + 1


def _welch(errors: NDArray[np.float64], counts: list[int]) -> float | None:
    """Degrees of freedom of a sum of means with these standard errors (Welch and Satterthwaite)."""
    squares = errors**2
    if min(counts) < 2 or not squares.sum():
        return None
    return float(squares.sum() ** 2 / (squares**2 / (np.array(counts) - 1)).sum())


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
            return student_tail(distance, value.error, value.tested)
        if abs(distance) <= _ROUNDING:
            return float(self.above)  # all seeds at the threshold: not above it
        return student_tail(distance, 0.0, value.tested)


def above(threshold: float) -> Side:
    return Side(True, threshold)


def at_most(threshold: float) -> Side:
    return Side(False, threshold)
