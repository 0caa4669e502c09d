"""Which of the values that a search tried is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from sifu.config.search import FORGETS, Search, trials
from sifu.core.types import Status
from sifu.errors import StoreError
from sifu.store.experiment_schemas import SEARCH
from sifu.store.parquet import read_table


def best_trial(table: pd.DataFrame) -> int:
    """The `place` of the trial that diverges on no seed, reaches the target on most, forgets, takes the fewest client
    steps, is most accurate; of two that are alike in all of this, the first.
    """
    place = table["place"]
    lost = (table["status"] == Status.DIVERGED.value).groupby(place).any()
    done = (table["status"] == Status.DONE.value).groupby(place).sum()
    means = table.groupby("place")[["client_steps", "accuracy"]].mean()
    got_there = done > 0  # where none did, neither steps nor forgetting say anything: a broken model forgets, too
    order = pd.DataFrame(
        {
            "lost": lost,
            "done": -done,
            "remembers": _remembers(table).where(got_there, 0.0),
            "steps": means["client_steps"].where(got_there, 0.0),
            "accuracy": -means["accuracy"],
        }
    )
    return int(order.sort_values([*order.columns, "place"]).index[0])


def _remembers(table: pd.DataFrame) -> pd.Series:
    """How much more accurate each trial is on the forgotten clients' data than a retraining, a mean over seeds.

    0 for a trial that forgets, and where nothing was forgotten (a training of a method's own).
    """
    if "forget_accuracy" not in table:
        return table.groupby("place").size() * 0.0
    more = (table["forget_accuracy"] - table["retrained_accuracy"]).groupby(table["place"]).mean().fillna(0.0)
    return more.where(more > FORGETS, 0.0)


def chosen_values(path: Path, search: Search) -> dict[str, Any]:
    """The values of the settings that a search found."""
    table = read_table(path, SEARCH)
    found, tried = table.loc[table["chosen"], "value"].unique(), trials(search.grid)
    if len(found) != 1 or found[0] not in tried:
        raise StoreError(f"{path} does not say which one of the values {'; '.join(tried)} was chosen")
    return tried[found[0]]
