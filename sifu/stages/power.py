"""How small an effect each metric can see with so many models, from the oracles of a scenario."""

from __future__ import annotations

from typing import Any

import numpy as np

from sifu.forgetting.margin import client_margins
from sifu.forgetting.power import SCORES, power_table, smallest_damage, smallest_memory
from sifu.forgetting.sample import NEEDS, Floats, enough_models
from sifu.stages.two_questions import SCRATCH, TwoQuestions
from sifu.store.oracle_schemas import WITH_CLIENT, WITH_TWIN

_COUNTS = (10, 20, 50, 100, 200, 500, 1000)  # models a world
_DRAWS = 100  # of two sets of oracles: a power of 0.9 is known to 0.03
_POINTS = 50  # of the forgotten clients, evenly spaced
_SAME = 1e-4  # spread of mean margins (half floats): models of different seeds that differ by less are the same one
_SLOW = ("ruli", "neurips_score")  # minutes with hundreds of models: where these are few, they are left out
TWINS, WORST = "twins", "worst_decile"
Rows = list[dict[str, Any]]


def power_rows(cell: TwoQuestions) -> Rows:
    """A row a metric and number of models; nothing with fewer oracles than two sets of the smallest number.

    Nor is there any where all seeds end at the same model (full batches, all clients, a convex loss), as there is no
    standard deviation to count in.

    Scratch of both worlds have never seen the clients: together they are the oracles that are drawn from.
    """
    oracles = np.concatenate([cell.models(SCRATCH, world).margins for world in (WITH_CLIENT, WITH_TWIN)])
    counts = [count for count in _COUNTS if 2 * count <= len(oracles)]
    if not counts:
        return []
    own, twin = (_spaced(oracles[:, cell.points_of(owner)]) for owner in ("client", "twin"))  # [M, at most 50]
    if own.mean(1).std() < _SAME:
        return []
    remain = client_margins(oracles, cell.owners("client"), cell.remaining)
    fast = [name for name in SCORES if name not in _SLOW or enough_models("power", len(oracles) // 2)]
    found = [dict(row._asdict()) for row in power_table(own, counts, fast, _DRAWS)]
    for count in counts:
        if count >= max(NEEDS[TWINS].least, NEEDS[WORST].least):
            found.append({"metric": TWINS, "models": count, "effect": smallest_memory(own, twin, count, _DRAWS)})
            found.append({"metric": WORST, "models": count, "effect": smallest_damage(remain, count, _DRAWS)})
    return [row | {"oracles": len(oracles)} for row in found]


def _spaced(margins: Floats) -> Floats:
    """Some of the points, evenly spaced: [M, P] -> [M, at most 50]"""
    places = np.linspace(0, margins.shape[1] - 1, min(_POINTS, margins.shape[1])).round().astype(np.int64)
    return margins[:, places].astype(np.float64)
