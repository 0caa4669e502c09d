"""What attacks by U-LiRA found, in the words of a table: AUC, null and p-value, and hits with their false alarms."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

HITS = {  # of which attack by U-LiRA: its columns in table `forgetting`, and whose models raise false alarms
    "hits": ("retrain", "twin_models"),
    "hits with the model before": ("pair", "client_models"),
    "hits on remaining clients": ("remaining", "twin_models"),
    "hits by twins": ("twins_lira", "twin_models"),
}
_RATES = {"1": "1%", "01": "0.1%"}  # of false alarms, as the columns name them


def attacks(rows: pd.DataFrame, name: str) -> list[str]:
    """The AUC of an attack by U-LiRA, next to its null and with its p-value, where they were noted."""
    parts = rows[[f"{name}_auc", f"{name}_null", f"{name}_p"]].itertuples(index=False, name=None)
    return ["-" if pd.isna(one) else f"{one:.2f}{_in_brackets(_chance(null, p))}" for one, null, p in parts]


def _chance(null: float, p_value: float) -> list[str]:
    """What an AUC is compared with. Earlier tables lack one of them, or both."""
    known = [] if pd.isna(null) else [f"null {null_text(null)}"]
    return known + ([] if pd.isna(p_value) else [f"p {p_text(p_value)}"])


def _in_brackets(words: list[str]) -> str:
    return f" ({', '.join(words)})" if words else ""


def remaining(rows: pd.DataFrame) -> list[str]:
    """The same by remaining clients, and the share of them that is told apart."""
    names = ["remaining_auc", "remaining_null", "remaining_p", "remaining_told"]
    return [
        "-" if pd.isna(one) else f"{one:.2f}{_in_brackets([*_chance(null, p), f'{told:.0%} told apart'])}"
        for one, null, p, told in rows[names].itertuples(index=False, name=None)
    ]


def hits(rows: pd.DataFrame, name: str, others: str) -> list[str]:
    """Hits at both low rates of false alarms, each with the counts that it is made of."""
    return ["; ".join(_hits_at(row, name, others)) or "-" for row in rows.to_dict("records")]


def _hits_at(row: Mapping[Hashable, Any], name: str, others: str) -> list[str]:
    """Earlier tables note the models of the smaller world alone, or no counts at all."""
    times = row["remaining_clients"] if name == "remaining" else 1
    words = []
    for rate, percent in _RATES.items():
        called, alarms = row[f"{name}_hits_{rate}"], row[f"{name}_alarms_{rate}"]
        own, other = (row["models"] if pd.isna(row[count]) else row[count] for count in ("client_models", others))
        if pd.notna(called):
            words.append(f"{called:,.0f} of {own * times:,.0f} at {alarms:,.0f} of {other * times:,.0f} ({percent})")
    return words


def null_text(deviation: float) -> str:
    return "-" if pd.isna(deviation) else f"0.50 +- {deviation:.2f}"


def p_text(value: float) -> str:
    return "-" if pd.isna(value) else f"{value:.3f}"
