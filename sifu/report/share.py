"""A share of seeds as text, with its exact interval."""

from __future__ import annotations

from sifu.core.intervals import clopper_pearson


def share(count: int, seeds: int) -> str:
    """`2 of 5 [5%, 85%]`: Clopper and Pearson's interval, also of none and of all; it takes independent seeds."""
    low, high = clopper_pearson(count, seeds)
    return f"{count} of {seeds} [{low:.0%}, {high:.0%}]"
