"""How far a method's models are from retrained ones: the table of every distance, and the text of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from sifu.report.forgetting_attacks import p_text

CAPTION = (
    "How far a method's models are from retrained ones, on the data of the forgotten clients (`forget`), of the "
    "remaining ones (`retain`) and on test data: at most 1,000 examples of each. `KLOM`: mean over examples of the "
    "divergence between the margins of both worlds by histograms, in nats; `KLOM, P95`: its 95th percentile over the "
    "examples; `Gaussian KL`: the same of normal distributions, its companion that needs fewer models; "
    "`disagreement`: how often a model of each world say different classes; `Jensen-Shannon`: distance of the right "
    "class's probability. Each next to its null, the same where worlds are called so at random: of means with the "
    "deviation over draws, or the p-value in tables from before that was noted. `few models`: fewer than advised."
)
_TITLES = {
    "KLOM": ("klom", "mean"),
    "KLOM, P95": ("klom", "percentile"),
    "Gaussian KL": ("gaussian_kl", "mean"),
    "Gaussian KL, P95": ("gaussian_kl", "percentile"),
    "disagreement": ("disagreement", "mean"),
    "Jensen-Shannon": ("jensen_shannon", "mean"),
}
_FAR = 10_000
_KEY = ["scenario", "variant", "request", "subset"]
_SUBSETS = ("forget", "retain", "test")


class Place(NamedTuple):
    """What a distance is of."""

    scenario: str
    variant: str
    request: int


def distance_table(distances: pd.DataFrame, labels: Mapping[str, str]) -> pd.DataFrame:
    """A row a scenario, method, request and subset, in the order of the methods."""
    columns = ["scenario", "method", "request", "subset", *_TITLES]
    rows = distances[distances["variant"].isin(list(labels)) & distances["subset"].isin(_SUBSETS)]
    if rows.empty:
        return pd.DataFrame(columns=columns)
    orders = {"variant": {name: place for place, name in enumerate(labels)}}
    orders["subset"] = {name: place for place, name in enumerate(_SUBSETS)}
    rows = rows.sort_values(_KEY, key=lambda one: one.map(orders[one.name]) if one.name in orders else one)
    found = [
        [scenario, labels[str(variant)], request, subset, *_numbers(group)]
        for (scenario, variant, request, subset), group in rows.groupby(_KEY, sort=False)
    ]
    return pd.DataFrame(found, columns=columns)


def _numbers(group: pd.DataFrame) -> list[str]:
    """The columns of one subset."""
    by_metric = {row["metric"]: row for row in group.to_dict("records")}
    texts = {"mean": _mean, "percentile": _percentile}
    return [texts[kind](by_metric.get(metric)) for metric, kind in _TITLES.values()]


def distance_text(distances: pd.DataFrame, metric: str, subset: str, place: Place) -> str:
    """The mean of a distance on a subset next to its null."""
    rows = distances[(distances["metric"] == metric) & (distances["subset"] == subset)]
    for name, value in place._asdict().items():
        rows = rows[rows[name] == value]
    return _mean(rows.to_dict("records")[0] if len(rows) else None)


def _mean(row: Mapping[Any, Any] | None) -> str:
    """A mean next to its null with its deviation, or in earlier tables with the p-value."""
    if row is None or pd.isna(row["mean"]):
        return "-"
    known = pd.notna(row["null_deviation"])
    spread = f" +- {_small(row['null_deviation'])}" if known else f", p {p_text(row['p_value'])}"
    return f"{_two_digits(row['mean'])} (null {_two_digits(row['null_mean'])}{spread}{_few(row)})"


def _percentile(row: Mapping[Any, Any] | None) -> str:
    """A percentile over examples next to that of the null."""
    if row is None or pd.isna(row["percentile"]):
        return "-"
    return f"{_two_digits(row['percentile'])} (null {_two_digits(row['null_percentile'])}{_few(row)})"


def _few(row: Mapping[Any, Any]) -> str:
    return "" if row["enough"] else ", few models"


def _two_digits(value: float) -> str:
    """Two digits after the point; never minus zero. Where all seeds end at the same model, its distance from any other
    one has no end.
    """
    if value > _FAR:
        return f"> {_FAR:,}"
    return f"{value:.2f}".replace("-0.00", "0.00")


def _small(value: float) -> str:
    """Two digits after the point, or the first that is not 0."""
    return f"{value:.2f}" if value >= 0.005 else f"{value:.1g}"
