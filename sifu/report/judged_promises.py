"""Which promises are judged: also those of recoveries that diverged, as a promise is about the model before recovery.

A recovery that diverges keeps its last finite weights, which were exploding already. An answer that starts from these,
or from what came of them, is left out if it diverges as well: it perturbed no sound model. (With noise at the end a
promise is about the recovered model; where that exploded, it is judged by what was counted there, too.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sifu.report.columns import numbers

DIVERGED = "diverged"
_RUN = ["scenario", "variant", "stop", "seed"]  # whose answers follow on each other
_NUMBERS = ["request", "rounds", "cut_round", "branch"]
Flags = NDArray[np.bool_]


def is_judged(cells: pd.DataFrame) -> Flags:
    """Which rows have a promise that is judged. `cells`: all requests of their seeds; of a sweep, those of one sigma.

    What diverged is judged where its promise was counted (Psi and with it the actual delta), its noise was finite, and
    so was the model under it.
    """
    promised, diverged = cells["claimed_epsilon"].notna().to_numpy(), cells["status"].eq(DIVERGED).to_numpy()
    if not (promised & diverged).any():
        return promised & ~diverged
    counted = numbers(cells, "strict_psi").notna() & ~np.isinf(numbers(cells, "sigma"))
    return promised & (~diverged | (counted.to_numpy() & ~_starts_lost(cells)))


def judged_promises(cells: pd.DataFrame) -> pd.DataFrame:
    """These rows."""
    return cells[is_judged(cells)]


def _starts_lost(cells: pd.DataFrame) -> Flags:
    """Which diverged answers start from a lineage that had diverged before."""
    lost = np.zeros(len(cells), dtype=bool)
    rows = pd.DataFrame({name: cells[name].to_numpy() if name in cells else "" for name in [*_RUN, "status"]})
    rows = rows.assign(**{name: numbers(cells, name).to_numpy() for name in _NUMBERS})
    some = rows["status"].eq(DIVERGED).groupby([rows[name] for name in _RUN]).transform("any")
    for _, run in rows[some].sort_values("request").groupby(_RUN):
        lost[list(_lost_places(run))] = True
    return lost


def _lost_places(run: pd.DataFrame) -> Iterator[int]:
    """The rows of one seed that start lost, by their places."""
    lost_from: dict[float, float] = {}  # request -> the first round of its recovery that is lost
    for place, status, request, rounds, cut, branch in run[["status", *_NUMBERS]].itertuples(name=None):
        # where the branch is not stored (sweeps), any earlier recovery may be the one
        limit = min(lost_from.values(), default=math.inf) if math.isnan(branch) else lost_from.get(branch, math.inf)
        if status != DIVERGED:
            continue
        if cut >= limit:
            yield place
        # round 0 is the model with noise: it is lost where the model under it is, and not because recovery diverged
        lost_from[request] = 0 if cut >= limit else rounds or math.inf
