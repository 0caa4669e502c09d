"""Each column of the stage `forgetting` is the function that it names, of the world, models and points that it names.

Of margins made up by hand (made_margins.py); the columns of the first table are in wanted_columns.py. The metrics
themselves are tested in unit/forgetting.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sifu.forgetting.distances import disagreement, jensen_shannon, margin_drop
from sifu.forgetting.klom import against_null, gaussian_kl, klom
from sifu.forgetting.power import SCORES, power_table, smallest_damage, smallest_memory
from sifu.forgetting.seeds import permuted_worlds
from sifu.forgetting.u_lira import ULira
from sifu.stages.forgetting import _alike, run_forgetting
from sifu.stages.lira_columns import Attack
from sifu.stages.two_questions import _read
from sifu.store.forgetting_schemas import DISTANCES, FORGETTING, POWER
from sifu.store.oracle_schemas import CLIENT_MARGINS, OTHER_DRAWS
from sifu.store.parquet import read_table
from sifu.store.provenance import provenance
from sifu.store.table import Table
from tests.unit.stages.made_margins import (
    LEAVE,
    PLACES,
    REMAIN,
    WORLDS,
    kept,
    made,
    means,
    numbers,
    points,
    tables,
)
from tests.unit.stages.wanted_columns import GROUPS

ALL = -1  # the row of all clients of a request together


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("made")
    tables(found)
    run_forgetting("made", [found], found, provenance("forgetting", {}, "", "cpu"))
    return found


def read(folder: Path, table: Table, request: int, **chosen: Any) -> pd.DataFrame:
    rows = read_table(folder / f"{table.name}.parquet", table)
    for name, value in ({"request": request} | chosen).items():
        rows = rows[rows[name] == value]
    return rows


@pytest.mark.parametrize("request_number", LEAVE)
@pytest.mark.parametrize("group", GROUPS)
def test_columns_of_the_two_questions(folder: Path, group: str, request_number: int) -> None:
    clients = [*LEAVE[request_number], ALL]
    rows = read(folder, FORGETTING, request_number, variant="method").set_index("client")
    assert set(rows.index) == set(clients)
    for name, wanted in GROUPS[group](request_number).items():
        a_row = wanted if isinstance(wanted, list | np.ndarray) else [wanted] * len(clients)
        for client, value in zip(clients, a_row, strict=True):
            found = rows.loc[client, name]
            same = pd.isna(found) if value is None else found == pytest.approx(value, abs=1e-9)
            assert same, f"client {client}: {name} is {found}, expected {value}"


def test_every_column_is_in_one_group() -> None:
    grouped = Counter(name for group in GROUPS.values() for name in group(1))
    assert grouped == dict.fromkeys((column.name for column in FORGETTING.columns if column.name != "client"), 1)


def test_hits_and_alarms_are_those_of_their_rate_and_client() -> None:
    """Of 200 oracles 1% are two and 0.1% none: thresholds 197 and 199."""
    oracle = np.tile(np.arange(200.0)[:, None], 2)
    unlearned = np.zeros((200, 2))
    unlearned[:150, 0] = unlearned[:30, 1] = 198.5
    unlearned[:20, 0] = unlearned[:5, 1] = 250
    attack = Attack(ULira(np.zeros(2), 0.1, unlearned, oracle, True), np.zeros(2))
    names = [f"x_{kind}_{rate}" for rate in ("1", "01") for kind in ("hits", "alarms")]
    rows = [attack.of_client("x", place) for place in (0, 1)]
    assert [[row[name] for name in names] for row in rows] == [[150, 2, 20, 0], [30, 2, 5, 0]]


def test_clients_at_once_have_one_threshold() -> None:
    """Of the 400 scores of oracles 1% are four (198 and 199 twice: threshold 197), and 0.1% none (199)."""
    oracle, unlearned = np.tile(np.arange(200.0)[:, None], 2), np.zeros((200, 2))
    unlearned[:150, 0] = unlearned[:30, 1] = 198.5
    unlearned[:20, 0] = unlearned[:5, 1] = 250
    row = Attack(ULira(np.array([0.6, 0.8]), 0.1, unlearned, oracle, True), np.array(0.25)).of_all("x")
    assert [row["x_auc"], row["x_null"], row["x_p"]] == pytest.approx([0.7, 0.1, 0.25])
    assert [row["x_hits_1"], row["x_alarms_1"], row["x_hits_01"], row["x_alarms_01"]] == [180, 4, 25, 0]


@pytest.mark.parametrize("request_number", [1, 2])
def test_every_distance(folder: Path, request_number: int) -> None:
    r = request_number
    subsets = {"forget": [("client", c) for c in LEAVE[r]], "retain": [("client", c) for c in REMAIN[r]]}
    subsets["test"] = [("test", -1)]
    three = (("method", r, "client"), ("scratch", r, "twin"), ("scratch", r, "client"))
    assigned = permuted_worlds(kept(r, "client"), kept(r, "twin") + OTHER_DRAWS, 20, paired=False)
    metrics = {"klom": klom, "gaussian_kl": gaussian_kl, "jensen_shannon": jensen_shannon, "disagreement": disagreement}
    wanted = {}
    for subset, owners in subsets.items():
        chosen = np.sort(np.concatenate([PLACES[owner] for owner in owners]))
        for name, metric in metrics.items():
            part = "predicted" if name == "disagreement" else "margins"
            values = [numbers(part, *one)[:, chosen].astype(np.float64) for one in three]
            wanted[name, subset] = against_null(*values, assigned, metric)
    remain = [means(*one, "client", REMAIN[r]) for one in three]
    wanted["margin_drop", "retain"] = against_null(*remain, assigned, margin_drop)
    worst = [one.min(1, keepdims=True) for one in remain]  # of at most ten clients the tenth is one
    wanted["worst_decile_drop", "retain"] = against_null(*worst, assigned, margin_drop)
    rows = read(folder, DISTANCES, r, variant="method").set_index(["metric", "subset"])
    assert set(rows.index) == set(wanted)
    for key, found in wanted.items():
        names = ["mean", "percentile", "p_value", "null_mean", "null_percentile", "null_deviation"]
        assert rows.loc[key, names].tolist() == pytest.approx([getattr(found, name) for name in names], abs=1e-9), key
        assert rows.loc[key, "models"] == (39 if r == 1 else 40)


def all_oracles(request: int, owner: str) -> np.ndarray:
    """Scratch's models of both worlds on the request's clients, or on their twins. [2 N, points]"""
    chosen = np.concatenate([PLACES[owner, client] for client in LEAVE[request]])
    parts = [made("scratch", request, world)["margins"][:, chosen] for world in WORLDS]
    return np.concatenate(parts).astype(np.float64)


def test_power_is_of_the_points_that_it_names(folder: Path) -> None:
    """Request 2: 80 oracles, two sets of ten or of twenty."""
    own, twin = (all_oracles(2, owner) for owner in ("client", "twin"))
    fast = [name for name in SCORES if name not in ("ruli", "neurips_score")]
    wanted = {(row.metric, row.models): row.effect for row in power_table(own, [10, 20], fast, 100)}
    parts = [[made("scratch", 2, world)["margins"][:, PLACES["client", c]] for c in REMAIN[2]] for world in WORLDS]
    remain = np.concatenate([np.stack([one.astype(float).mean(1) for one in part], axis=1) for part in parts])
    wanted |= {("twins", count): smallest_memory(own, twin, count, 100) for count in (10, 20)}
    wanted |= {("worst_decile", count): smallest_damage(remain, count, 100) for count in (10, 20)}
    rows = read(folder, POWER, 2).set_index(["metric", "models"])
    assert rows["effect"].to_dict() == pytest.approx(wanted)
    assert set(rows["oracles"]) == {80}


def test_published_means_are_those_of_clients_and_twins(folder: Path) -> None:
    rows = read(folder, CLIENT_MARGINS, 1, variant="method").set_index(["world", "client", "seed"]).sort_index()
    for world, (place, client) in product(WORLDS, enumerate(LEAVE[1])):
        found = rows.loc[(world, client)]
        assert found.index.tolist() == kept(1, world).tolist()
        for column, owner in (("own", "client"), ("twin", "twin")):
            wanted = means("method", 1, world, owner, LEAVE[1])[:, place]
            np.testing.assert_allclose(found[column], wanted, rtol=1e-5, atol=1e-6)


def test_margins_of_few_models_are_in_memory_at_once(folder: Path) -> None:
    """Twelve were read, of three variants, two requests and two worlds."""
    assert read(folder, FORGETTING, 2)["variant"].nunique() == 3
    assert _read.cache_info().misses >= 12
    assert _read.cache_info().currsize <= 8


def test_blocks_are_about_the_same_images_as_far_as_they_name_them() -> None:
    named = points().assign(row=lambda rows: rows["point"] + 100)
    unnamed = points().astype({"row": float})
    assert _alike(named, unnamed)
    assert _alike(named, named.copy())
    assert not _alike(named, named.assign(row=named["row"] + 1))
    assert not _alike(named, unnamed.assign(label=1))
