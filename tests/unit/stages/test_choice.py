"""Which of the values that were tried is the best."""

from __future__ import annotations

import pandas as pd

from sifu.stages.choice import best_trial


def tried(*rows: tuple[int, str, int, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["place", "status", "client_steps", "accuracy"])


def test_most_seeds_then_fewest_steps_then_accuracy() -> None:
    assert best_trial(tried((1, "done", 90, 0.9), (2, "done", 80, 0.9), (5, "not_reached", 10, 0.95))) == 2
    both = tried((1, "done", 90, 0.9), (1, "done", 99, 0.9), (2, "done", 10, 0.9), (2, "diverged", 9, 0.0))
    assert best_trial(both) == 1, "lost on one seed"
    assert best_trial(tried((1, "not_reached", 90, 0.7), (2, "diverged", 3, 0.9))) == 1
    none = tried((1, "not_reached", 90, 0.7), (2, "not_reached", 90, 0.8), (5, "diverged", 3, 0.1))
    assert best_trial(none) == 2


def test_steps_are_means_over_seeds_and_ties_go_to_the_first() -> None:
    """(60 + 100) / 2 = 80 is below (70 + 92) / 2 = 81; with equal steps the more accurate; all equal: the first."""
    means = tried((0, "done", 70, 0.9), (0, "done", 92, 0.9), (1, "done", 60, 0.9), (1, "done", 100, 0.9))
    assert best_trial(means) == 1
    assert best_trial(tried((0, "done", 80, 0.9), (1, "done", 80, 0.91))) == 1
    assert best_trial(tried((10, "done", 80, 0.9), (9, "done", 80, 0.9))) == 9


def test_a_value_that_remembers_loses_to_a_slower_one_that_forgets() -> None:
    """A retraining has 0.30 on the forgotten data; 0.34 is to forget, 0.36 is not. Of 0.6 and 0.5 the nearer wins."""

    def best(first: float, second: float, status: str = "done") -> int:
        table = tried((0, status, 10, 0.95), (1, status, 90, 0.93))
        return best_trial(table.assign(forget_accuracy=[first, second], retrained_accuracy=0.30))

    assert best(0.36, 0.34) == 1
    assert best(0.34, 0.10) == 0, "both forget: the faster"
    assert best(0.60, 0.50) == 1
    assert best(0.36, 0.34, "not_reached") == 0, "none got there: the more accurate"
    table = tried((0, "done", 10, 0.95), (1, "done", 90, 0.93))
    assert best_trial(table.assign(forget_accuracy=None, retrained_accuracy=None).astype(float, errors="ignore")) == 0
