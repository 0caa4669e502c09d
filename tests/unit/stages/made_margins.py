"""Forty models a world with margins made up by hand, as the stage `forgetting` reads them.

Every variant, request, world and owner has a shift of its own, so that no other choice of models or points has the
same number.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sifu.store.oracle_schemas import MARGINS, POINTS
from sifu.store.parquet import write_table
from sifu.store.provenance import provenance

MODELS = 40
WORLDS = ("client", "twin")
LEAVE = {1: [1, 2], 2: [4]}  # the clients of each request
REMAIN = {1: [0, 3, 4, 5, 6], 2: [0, 3, 5, 6]}  # after it
EXAMPLES = {0: 3, 1: 12, 2: 4, 3: 3, 4: 11, 5: 3, 6: 4}  # of a client and its twin: two in a tenth of 12, one of 4
OWNERS = [*(("client", c) for c in EXAMPLES), *(("twin", c) for c in (1, 2, 4)), ("test", -1)]
DIVERGED = 5  # the seed of a model of `method` after request 1, in the clients' world


def leaves_at(client: int) -> int:
    return next((number for number, clients in LEAVE.items() if client in clients), 0)


def points() -> pd.DataFrame:
    rows = [
        {"owner": owner, "client": client, "place": place, "label": 0, "left_at": leaves_at(client)}
        for owner, client in OWNERS
        for place in range(EXAMPLES.get(client, 6))
    ]
    return pd.DataFrame(rows).assign(scenario="made", point=range(len(rows)), row=None)


PLACES = {key: group["point"].to_numpy() for key, group in points().groupby(["owner", "client"])}


@cache
def made(variant: str, request: int, world: str) -> dict[str, Any]:
    """The models of a variant after a request. `original` knows who took part, `method` remembers a part of it."""
    name = f"{variant} {request} {world}"
    random = np.random.default_rng(list(name.encode()))
    common = np.random.default_rng([request, *world.encode()]).normal(0, 0.5, (MODELS, 1))  # of a seed of a world
    margins = common + random.normal(size=(MODELS, len(points())))
    memory = {"original": 1.5, "method": 0.5}.get(variant, 0.0)
    for (owner, client), places in PLACES.items():
        took_part = owner == world and leaves_at(client) == request
        margins[:, places] += random.uniform(-0.5, 0.5) + memory * took_part
    return {
        "margins": margins.astype(np.float16),
        "predicted": random.integers(0, random.integers(2, 6), margins.shape).astype(np.uint8),
        "status": np.where(random.random(MODELS) < 0.8, "done", "not_reached"),
        "relearn_steps": random.integers(10, random.integers(40, 90), MODELS),
        "relearned": random.random(MODELS) < 0.85,
    }


def tables(folder: Path) -> None:
    """The two tables that the stage reads."""
    stamp, rows = provenance("oracles", {}, "", "cpu"), []
    for variant, request, world in product(("original", "scratch", "method"), LEAVE, WORLDS):
        parts = made(variant, request, world)
        for seed in range(MODELS):
            row = {name: values[seed] for name, values in parts.items()}
            if (variant, request, world, seed) == ("method", 1, "client", DIVERGED):
                row["status"] = "diverged"
            row |= {} if world == "client" else {"relearn_steps": None, "relearned": None}
            rows.append(row | {"variant": variant, "request": request, "world": world, "seed": seed, "rounds": 1})
    margins = pd.DataFrame(rows).assign(scenario="made")
    write_table(folder / "margins.parquet", MARGINS, margins, stamp, row_group_size=1)
    write_table(folder / "points.parquet", POINTS, points(), stamp)


def kept(request: int, world: str) -> np.ndarray:
    """The seeds of the models next to `method`: where its own diverged, none is read."""
    return np.setdiff1d(np.arange(MODELS), [DIVERGED] if (request, world) == (1, "client") else [])


def numbers(part: str, variant: str, request: int, world: str) -> np.ndarray:
    return made(variant, request, world)[part][kept(request, world)]


def means(variant: str, request: int, world: str, owner: str, clients: list[int], of: Any = np.mean) -> np.ndarray:
    """A number of each model and client: of its margins on the client's own points, or on its twin's. [N, C]"""
    margins = numbers("margins", variant, request, world).astype(np.float64)
    return np.stack([of(margins[:, PLACES[owner, client]], axis=1) for client in clients], axis=1)


def lowest_tenth(margins: np.ndarray, axis: int) -> np.ndarray:
    return np.sort(margins, axis)[:, : -(-margins.shape[1] // 10)].mean(axis)


def with_all(values: np.ndarray) -> np.ndarray:
    """Last a column for all clients together: their mean."""
    return np.column_stack([values, values.mean(1)])
