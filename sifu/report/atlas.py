"""What trainings remember of each client, next to how far it moved them and how far it could have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from sifu.catalog.datasets import DATASETS

CAPTION = (
    "Every client of a federation left out in turn, in many trainings. `memorisation`: the mean margin on the client's "
    "own data with it minus without it, a mean over seeds; of the clients the median, with the lowest and the highest. "
    "`rank correlation`: over clients, of memorisation with alpha, the measured distance of the two models; with Psi, "
    "its bound, as the paper counts it (shares of all clients) and strictly (seats refilled); `within classes`: the "
    "same of what is left after the mean of each class, where a client has one class. `alpha <= Psi`: the share of "
    "clients and seeds in which Psi is a bound; `alpha / Psi`: the median ratio, with the lowest and the highest: far "
    "below 1 the bound is loose."
)
_NUMBERS = ("memorisation", "accuracy_drop", "alpha", "psi_published", "psi_strict")
_BOUNDS = ("psi_published", "psi_strict")
_RANKED = {"alpha": "alpha", "psi_published": "Psi", "psi_strict": "strict Psi"}
_FEW_CLIENTS = 3  # with fewer, a rank correlation says nothing


def by_client(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, a row a scenario and client; `deviation`: of the memorisation over seeds, 0 of one seed."""
    groups = rows.groupby(["scenario", "client"])
    means = groups[list(_NUMBERS)].mean()
    spread = groups["memorisation"].std().fillna(0.0)
    means.insert(0, "seeds", groups.size())
    means.insert(2, "deviation", spread)
    return means.reset_index()


def rank_correlations(clients: pd.DataFrame) -> dict[str, float]:
    """How far alpha and both Psi tell who is remembered, by name; nothing of very few clients, or of equal numbers."""
    if len(clients) < _FEW_CLIENTS:
        return {}
    ranks = clients[["memorisation", *_RANKED]].rank().corr()["memorisation"]
    return {title: float(ranks[name]) for name, title in _RANKED.items() if pd.notna(ranks[name])}


def within_classes(clients: pd.DataFrame, num_classes: int) -> pd.DataFrame:
    """The numbers of each client minus the mean of its class; client i holds the class i mod `num_classes`."""
    numbers = clients[list(_NUMBERS)]
    return numbers - numbers.groupby(clients["client"] % num_classes).transform("mean")


def one_class(settings: Mapping[str, Any]) -> dict[str, int]:
    """The number of classes of each scenario in which every client has one class, from the scenarios' settings."""
    kinds = {name: (one["partition"]["kind"], one["dataset"]["name"]) for name, one in settings.items()}
    return {name: DATASETS[dataset].num_classes for name, (kind, dataset) in kinds.items() if kind == "one_class"}


def atlas_table(rows: pd.DataFrame, classes: Mapping[str, int] | None = None) -> pd.DataFrame:
    """A row a scenario; `classes`: see `one_class`."""
    columns = ["scenario", "clients", "seeds", "memorisation"]
    columns += [f"rank correlation, {title}" for title in _RANKED.values()]
    columns += [f"within classes, {title}" for title in _RANKED.values()]
    columns += ["alpha <= Psi", "alpha <= strict Psi", "alpha / Psi", "alpha / strict Psi"]
    names = [str(name) for name in dict.fromkeys(rows["scenario"])]
    found = [_row(name, rows[rows["scenario"] == name], (classes or {}).get(name)) for name in names]
    return pd.DataFrame(found, columns=columns)


def _row(scenario: str, rows: pd.DataFrame, num_classes: int | None) -> list[str | int]:
    clients = by_client(rows)
    ranks = _words(rank_correlations(clients))
    within = _words(rank_correlations(within_classes(clients, num_classes)) if num_classes else {})
    bounds = [f"{(rows['alpha'] <= rows[name]).mean():.0%}" for name in _BOUNDS]
    ratios = [_spread((rows["alpha"] / rows[name])[rows[name] > 0]) for name in _BOUNDS]
    number = rows["seed"].nunique()
    return [scenario, len(clients), number, _spread(clients["memorisation"]), *ranks, *within, *bounds, *ratios]


def _words(ranks: dict[str, float]) -> list[str]:
    return [f"{ranks[title]:.2f}" if title in ranks else "-" for title in _RANKED.values()]


def _spread(values: pd.Series) -> str:
    """The median, with the lowest and the highest."""
    return f"{values.median():.2f} [{values.min():.2f}, {values.max():.2f}]" if len(values) else "-"
