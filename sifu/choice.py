"""Which of the values that were tried is the best."""

from __future__ import annotations

import pandas as pd

from sifu.types import Status


def best_trial(table: pd.DataFrame) -> int:
    """The `place` of the trial that diverges on no seed, reaches the target on most, in the fewest client steps, most
    accurately; of two that are alike in all of this, the first.
    """
    place = table["place"]
    lost = (table["status"] == Status.DIVERGED.value).groupby(place).any()
    done = (table["status"] == Status.DONE.value).groupby(place).sum()
    means = table.groupby("place")[["client_steps", "accuracy"]].mean()
    steps = means["client_steps"].where(done > 0, 0.0)  # where none got there, steps say nothing
    order = pd.DataFrame({"lost": lost, "done": -done, "steps": steps, "accuracy": -means["accuracy"]})
    return int(order.sort_values([*order.columns, "place"]).index[0])
