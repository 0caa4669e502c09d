"""The table `frontier` for people: the certificates that survive, a row each, cheapest first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from sifu.report.frontier import AT_DELTA
from sifu.report.share import share
from sifu.store.report_schemas import POINT_COLUMNS

Sigmas = Mapping[tuple[str, str], float]  # (scenario, variant) -> of its own noise
_SURVIVES = {
    "request": "all clients of a request",
    "measured": "all clients of a request, as measured alone: B = 1 is refuted",
    "client": "each client alone",
}
UNKNOWN = "not measured yet"
_BY_DESIGN = "exact by design, not counted"  # such as a shard that never saw the client
_MORE_POINTS = {text: name for text, name in POINT_COLUMNS.items() if text != AT_DELTA}
_PEOPLE = [
    *("scenario", "method", "sigma", "holds for", "cost / scratch", "claimed epsilon"),
    *("epsilon, request", "epsilon, one client", "epsilon, all forgotten", "epsilon, measured"),
    *_MORE_POINTS,
]


def surviving(table: pd.DataFrame) -> pd.DataFrame:
    """The rows whose certificate survives, or is not measured yet; cheapest first in each scenario."""
    order = {name: place for place, name in enumerate(dict.fromkeys(table["scenario"]))}
    kept = table[table["promise"].isin([*_SURVIVES, "unknown"])]
    kept = kept.assign(_place=kept["scenario"].map(order), _unknown=kept["promise"] == "unknown")
    return kept.sort_values(["_place", "_unknown", "cost"]).drop(columns=["_place", "_unknown"])


def own_sigmas(cells: pd.DataFrame) -> Sigmas:
    """The noise of variants as they are, where it is the same in all of their rows."""
    if not len(cells) or "sigma" not in cells:
        return {}
    found = cells.dropna(subset=["sigma"]).groupby(["scenario", "variant"])["sigma"].agg(["min", "max"])
    return {(str(key[0]), str(key[1])): low for key, low, high in found.itertuples() if low == high}


def _sigma(row: Mapping[Any, Any], own: Sigmas) -> str:
    sigma = own.get((row["scenario"], row["variant"]))
    named = pd.isna(row["sigma"]) and sigma
    return f"{sigma:.3g}, {row['noise']}" if named else str(row["noise"])


def _not_again(table: pd.DataFrame, own: Sigmas) -> pd.DataFrame:
    """Without the sweep's rows of a variant's own sigma, unless more seeds reached every target in them: the sweep may
    have been run later, with other clipping.
    """
    rows = table.astype({"sigma": float}).to_dict("records")
    compared = {(row["scenario"], row["variant"]): row["compared"] for row in rows if pd.isna(row["sigma"])}

    def is_again(row: Mapping[Any, Any]) -> bool:
        key = row["scenario"], row["variant"]
        same = key in compared and key in own and math.isclose(row["sigma"], own[key], rel_tol=1e-6)
        return same and row["compared"] <= compared[key]

    return table[np.array([not is_again(row) for row in rows], dtype=bool)]


def frontier_for_people(
    table: pd.DataFrame, titles: Mapping[str, str], labels: Mapping[str, str], own: Sigmas
) -> pd.DataFrame:
    """A row a certificate that survives, in the scenarios `titles`: for whom it holds, its cost, its real epsilon.

    `own`: the noise of variants as they are, `own_sigmas`.
    """
    shown = surviving(_not_again(table[table["scenario"].isin(list(titles))], own))
    rows = [
        {
            "scenario": row["scenario"],
            "method": labels.get(str(row["variant"]), str(row["variant"])),
            "sigma": _sigma(row, own),
            "holds for": _SURVIVES.get(str(row["promise"]), _BY_DESIGN if row["claimed_epsilon"] == 0 else UNKNOWN),
            "cost / scratch": _cost(row),
            "claimed epsilon": f"{row['claimed_epsilon']:g}",
            "epsilon, request": _number(row["epsilon"]),
            "epsilon, one client": _number(row["epsilon_client"]),
            "epsilon, all forgotten": _number(row["epsilon_everyone"]),
            "epsilon, measured": _number(row["epsilon_measured"]),
            **{text: _number(row[name]) for text, name in _MORE_POINTS.items()},
        }
        for row in shown.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=_PEOPLE)


def _cost(row: Mapping[Any, Any]) -> str:
    if 2 * row["compared"] < row["seeds"] or pd.isna(row["cost"]):
        return f"target met in seeds: {share(row['compared'], row['seeds'])}"
    interval = "" if pd.isna(row["cost_low"]) else f" [{row['cost_low']:.2f}, {row['cost_high']:.2f}]"
    return f"{row['cost']:.2f}{interval}"


def _number(value: float) -> str:
    """As the table of claimed and actual promises has it: 58,622."""
    text = f"{value:,.0f}" if 1000 <= value < math.inf else f"{value:.3g}"
    return "-" if pd.isna(value) else text
