"""How small an effect each metric sees with so many models: the table of the figure `power`, and its words."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from sifu.forgetting.sample import NEEDS

SHIFT = (
    "The smallest shift of the forgotten clients' mean margin, in its standard deviations over models, that a metric "
    "finds in 90% of draws at a level of 5%"
)
WORLDS = (
    "Both worlds are drawn from oracles (scratch of both worlds, which never saw the clients); the shift is added to "
    "one of them."
)
_SIDE = "whether the right class has more than half of the probability"
_OF_METRICS = {  # what the effect is where it is another one
    "twins": "a shift of the margins of whoever took part, in both worlds",
    "accuracy": f"by {_SIDE}",
    "disagreement": f"of {_SIDE}, beyond that of models whose worlds are named at random",
    "worst_decile": "a shift of all remaining clients, in standard deviations of their mean",
}


def power_table(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each scenario, request and number of models, a column a metric."""
    key = ["scenario", "request", "models"]
    wide = rows.pivot_table(index=key, columns="metric", values="effect", sort=True)
    wide = wide[[name for name in NEEDS if name in wide.columns]].rename(columns=lambda name: NEEDS[name].name)
    return wide.map(_number).reset_index().rename(columns={"models": "models a world"})


def caption(rows: pd.DataFrame) -> str:
    """Of the table."""
    parts = [
        f"{SHIFT}, with so many models of each world. {WORLDS}",
        *metric_words(rows["metric"]),
        "A dash: too few models for the metric, or too many for the oracles; `none`: no shift is found.",
    ]
    return " ".join(parts)


def metric_words(metrics: Iterable[str]) -> list[str]:
    """A sentence on each of these metrics whose effect is not simply that shift."""
    there = set(metrics)
    return [f"`{NEEDS[name].name}`: {words}." for name, words in _OF_METRICS.items() if name in there]


def _number(effect: float) -> str:
    return "-" if pd.isna(effect) else "none" if effect == float("inf") else f"{effect:.2f}"
