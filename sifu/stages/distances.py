"""Distances of a method's models to scratch's on some examples, each next to its null."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sifu.forgetting.distances import disagreement, jensen_shannon, margin_drop
from sifu.forgetting.klom import Klom, PerPoint, against_null, gaussian_kl, klom
from sifu.forgetting.margin import client_margins
from sifu.forgetting.sample import TooFewModels, enough_models
from sifu.forgetting.seeds import permuted_worlds
from sifu.forgetting.worst_decile import worst_decile
from sifu.store.margins import ModelMargins

_DRAWS = 20  # of the null: a mean beyond all of them has a p-value below 0.05
_POINTS = 1000  # of a subset, evenly spaced: enough for a mean
_METRICS: Mapping[str, PerPoint] = {
    "klom": klom,
    "gaussian_kl": gaussian_kl,
    "disagreement": disagreement,
    "jensen_shannon": jensen_shannon,
}
Rows = list[dict[str, Any]]
Values = Callable[[ModelMargins], NDArray[Any]]


class Compared(NamedTuple):
    """A method's models, scratch's of the other world (the oracles), and scratch's of its own, for the null."""

    unlearned: ModelMargins
    oracles: ModelMargins
    others: ModelMargins

    def values(self, of: Values) -> list[NDArray[Any]]:
        return [of(models) for models in self]


def distance_rows(models: Compared, points: pd.DataFrame, request: int) -> Rows:
    """A row a metric and subset; where there are too few models, one without numbers."""
    worlds = _worlds(models)
    rows = []
    for subset, chosen in _subsets(points, request).items():
        some = _spaced(chosen)
        for name, metric in _METRICS.items():
            part = "predicted" if name == "disagreement" else "margins"
            found = _judged(models.values(partial(_columns, part, some)), worlds, metric)
            rows.append(_row(name, subset, found, models))
        if subset == "retain":
            rows += _remaining(models, points["client"].where(chosen, -1).to_numpy(), worlds)
    return rows


def _columns(part: str, places: NDArray[np.int64], models: ModelMargins) -> NDArray[Any]:
    values: NDArray[Any] = getattr(models, part)
    return values[:, places]


def _remaining(models: Compared, owners: NDArray[np.int64], worlds: NDArray[np.bool_] | None) -> Rows:
    """By how much the mean margins of the remaining clients are lower than scratch's, and of their worst decile."""
    clients = sorted(set(owners.tolist()) - {-1})
    means = models.values(lambda one: client_margins(one.margins, owners, clients))
    worst = [worst_decile(values)[:, None] for values in means]
    return [
        _row("margin_drop", "retain", _judged(means, worlds, margin_drop), models),
        _row("worst_decile_drop", "retain", _judged(worst, worlds, margin_drop), models),
    ]


def _subsets(points: pd.DataFrame, request: int) -> dict[str, pd.Series]:
    """The points of each subset. [P] bool each"""
    own, left_at = points["owner"] == "client", points["left_at"]
    masks = {
        "forget": own & (left_at == request),
        "retain": own & ((left_at == 0) | (left_at > request)),
        "test": points["owner"] == "test",
    }
    return {name: mask for name, mask in masks.items() if mask.any()}


def _spaced(chosen: pd.Series) -> NDArray[np.int64]:
    places = np.flatnonzero(chosen)
    return places[:: -(-len(places) // _POINTS)]


def _worlds(models: Compared) -> NDArray[np.bool_] | None:
    """Worlds called so at random; None where there are too few models. [draws, N + M]"""
    try:
        return permuted_worlds(models.unlearned.seeds, models.oracles.seeds, _DRAWS, paired=False)
    except TooFewModels:
        return None


def _judged(values: list[NDArray[Any]], worlds: NDArray[np.bool_] | None, metric: PerPoint) -> Klom | None:
    """A metric with its null; None where it is refused for want of models."""
    if worlds is None:
        return None
    try:
        unlearned, oracles, others = values
        return against_null(unlearned, oracles, others, worlds, metric)
    except TooFewModels:
        return None


def _row(name: str, subset: str, found: Klom | None, models: Compared) -> dict[str, Any]:
    counts = [len(models.unlearned.seeds), len(models.oracles.seeds)]
    need = {"klom": "klom", "gaussian_kl": "gaussian_kl"}.get(name, "auc")
    row = {"metric": name, "subset": subset, "models": min(counts), "enough": enough_models(need, *counts)}
    if found is None:
        return row
    numbers = {"mean": found.mean, "percentile": found.percentile, "p_value": found.p_value}
    nulls = {"null_mean": found.null_mean, "null_percentile": found.null_percentile}
    return row | numbers | nulls | {"null_deviation": found.null_deviation}
