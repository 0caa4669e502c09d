"""Which of the values that a search tried is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from sifu.config.search import Search, trials
from sifu.core.types import Status
from sifu.errors import StoreError
from sifu.store.experiment_schemas import SEARCH
from sifu.store.parquet import read_table


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


def chosen_values(path: Path, search: Search) -> dict[str, Any]:
    """The values of the settings that a search found."""
    table = read_table(path, SEARCH)
    found, tried = table.loc[table["chosen"], "value"].unique(), trials(search.grid)
    if len(found) != 1 or found[0] not in tried:
        raise StoreError(f"{path} does not say which one of the values {'; '.join(tried)} was chosen")
    return tried[found[0]]
