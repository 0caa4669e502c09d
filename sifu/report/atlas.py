"""What trainings remember of each client, next to how far it moved them and how far it could have."""

from __future__ import annotations

import pandas as pd

CAPTION = (
    "Every client of a federation left out in turn, in many trainings. `memorisation`: the mean margin on the client's "
    "own data with it minus without it, a mean over seeds; of the clients the median, with the lowest and the highest. "
    "`rank correlation`: over clients, of memorisation with alpha, the measured distance of the two models; with Psi, "
    "its bound, as the paper counts it (shares of all clients) and strictly (seats refilled). `alpha <= Psi`: the "
    "share of clients and seeds in which Psi is a bound."
)
_NUMBERS = ("memorisation", "accuracy_drop", "alpha", "psi_published", "psi_strict")
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


def atlas_table(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a scenario."""
    columns = ["scenario", "clients", "seeds", "memorisation"]
    columns += [f"rank correlation, {title}" for title in _RANKED.values()]
    columns += ["alpha <= Psi", "alpha <= strict Psi"]
    found = [_row(str(name), rows[rows["scenario"] == name]) for name in dict.fromkeys(rows["scenario"])]
    return pd.DataFrame(found, columns=columns)


def _row(scenario: str, rows: pd.DataFrame) -> list[str | int]:
    clients = by_client(rows)
    memory, ranks = clients["memorisation"], rank_correlations(clients)
    correlations = [f"{ranks[title]:.2f}" if title in ranks else "-" for title in _RANKED.values()]
    bounds = [f"{(rows['alpha'] <= rows[name]).mean():.0%}" for name in ("psi_published", "psi_strict")]
    middle = f"{memory.median():.2f} [{memory.min():.2f}, {memory.max():.2f}]"
    return [scenario, len(clients), rows["seed"].nunique(), middle, *correlations, *bounds]
