"""How small an effect each metric sees with so many models: the table of the figure `power`."""

from __future__ import annotations

import pandas as pd

from sifu.forgetting.sample import NEEDS

CAPTION = (
    "The smallest shift of the forgotten clients' mean margin, in its standard deviations over models, that a metric "
    "finds in 90% of draws at a level of 5%, with so many models of each world. Both worlds are drawn from oracles "
    "(scratch of both worlds, which never saw the clients); the shift is added to one of them, for the twin test to "
    "whoever took part. `accuracy`: the share of examples whose right class has more than half of the probability; "
    "`the worst decile`: a shift of all remaining clients, in deviations of their mean. A dash: too few models for the "
    "metric, or too many for the oracles; `none`: no shift is found."
)


def power_table(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each scenario, request and number of models, a column a metric."""
    key = ["scenario", "request", "models"]
    wide = rows.pivot_table(index=key, columns="metric", values="effect", sort=True)
    wide = wide[[name for name in NEEDS if name in wide.columns]].rename(columns=lambda name: NEEDS[name].name)
    return wide.map(_number).reset_index().rename(columns={"models": "models a world"})


def _number(effect: float) -> str:
    return "-" if pd.isna(effect) else "none" if effect == float("inf") else f"{effect:.2f}"
