"""Each column of the stage `forgetting` is the function that it names, of the world, models and points that it names.

Of margins made up by hand (made_margins.py). The metrics themselves are tested in unit/forgetting.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sifu.forgetting.auc import auc_null_deviation, low_rate, mann_whitney
from sifu.forgetting.client_attack import client_attack
from sifu.forgetting.distances import disagreement, jensen_shannon, margin_drop
from sifu.forgetting.klom import against_null, gaussian_kl, klom
from sifu.forgetting.power import SCORES, power_table, smallest_damage, smallest_memory
from sifu.forgetting.relearning import relearn_time
from sifu.forgetting.ruli import separated
from sifu.forgetting.seeds import permuted_worlds
from sifu.forgetting.twins import share_forgotten, twin_test
from sifu.forgetting.u_lira import ULira, u_lira, u_lira_test
from sifu.forgetting.verdict import verdict
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
    lowest_tenth,
    made,
    means,
    numbers,
    points,
    tables,
    with_all,
)

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


def counts(name: str, found: np.ndarray, oracles: np.ndarray, *, known: bool = True) -> dict[str, int | None]:
    """The columns of hits and alarms of an attack with these scores of both worlds."""
    rates = {rate: low_rate(found, oracles, value) for rate, value in (("1", 0.01), ("01", 0.001))}
    hits = {f"{name}_hits_{rate}": one.hits if known else None for rate, one in rates.items()}
    return hits | {f"{name}_alarms_{rate}": one.alarms if known else None for rate, one in rates.items()}


@pytest.mark.parametrize("request_number", [1, 2])
def test_every_column_of_the_two_questions(folder: Path, request_number: int) -> None:
    r, clients = request_number, LEAVE[request_number]
    own, other = kept(r, "client"), kept(r, "twin") + OTHER_DRAWS
    unlearned, oracles, same, before, never, never_before = (
        with_all(means(variant, r, world, "client", clients))
        for variant, world in (
            *(("method", "client"), ("scratch", "twin"), ("scratch", "client"), ("original", "client")),
            *(("method", "twin"), ("original", "twin")),
        )
    )
    differences = {
        (variant, world): with_all(
            means(variant, r, world, "client", clients) - means(variant, r, world, "twin", clients)
        )
        for variant in ("method", "original")
        for world in WORLDS
    }
    now, first = (tuple(differences[name, world] for world in WORLDS) for name in ("method", "original"))
    retrain, twins_lira = u_lira(unlearned, oracles, own, other), u_lira(*now, own, other)
    retrain_p = u_lira_test(unlearned, oracles, own, other).p_value
    twins_lira_p = u_lira_test(*now, own, other).p_value
    lowest = [
        with_all(means(*one, "client", clients, of=lowest_tenth))
        for one in (("method", r, "client"), ("scratch", r, "twin"))
    ]
    pairs = [np.stack([before, after], axis=-1) for after in (unlearned, same)]
    worlds = dict(zip(WORLDS, (len(own), len(other)), strict=True))
    pair, pair_p = u_lira(*pairs, own, own), u_lira_test(*pairs, own, own, 99, paired=True).p_value
    paired = client_attack(unlearned[:, :-1], same[:, :-1], own)
    remain = [means(*one, r, world, "client", REMAIN[r]) for *one, world in (("method", "client"), ("scratch", "twin"))]
    remain_lira, remain_p = u_lira(*remain, own, other), u_lira_test(*remain, own, other, pooled=True).p_value
    same_remain = means("scratch", r, "client", "client", REMAIN[r])
    test, original = twin_test(*now), twin_test(*first)
    privacy, efficacy = separated(unlearned, never, own, other), separated(unlearned, never_before, own, other)
    steps, met = (
        [numbers(part, variant, r, "client") for variant in ("method", "scratch")]
        for part in ("relearn_steps", "relearned")
    )
    relearned = relearn_time(*steps, *met, own)
    reached = min((numbers("status", "method", r, world) == "done").sum() for world in WORLDS)
    rows = read(folder, FORGETTING, r, variant="method").set_index("client")
    assert set(rows.index) == {*clients, ALL}
    for place, client in enumerate([*clients, ALL]):
        together = client == ALL
        share = share_forgotten(*(tuple(world[:, place] for world in pair) for pair in (now, first)), (own, other))
        half = first[1][:, place]
        wanted: dict[str, Any] = {
            "scenario": "made",
            "variant": "method",
            "request": r,
            "models": 39 if r == 1 else 40,
            "reached": reached,
            "client_models": worlds["client"],
            "twin_models": worlds["twin"],
            "retrain_auc": retrain.auc[place],
            "retrain_null": retrain.null_deviation,
            "retrain_p": retrain_p[place],
            **counts("retrain", retrain.unlearned[:, place], retrain.oracle[:, place]),
            "lowest_auc": u_lira(*lowest, own, other).auc[place],
            "pair_auc": pair.auc[place] if r == 1 else None,
            "pair_p": pair_p[place] if r == 1 else None,
            "pair_null": pair.null_deviation if r == 1 else None,
            **counts("pair", pair.unlearned[:, place], pair.oracle[:, place], known=r == 1),
            "remaining_auc": remain_lira.auc.mean() if together else None,
            "remaining_null": remain_lira.null_deviation if together else None,
            "remaining_p": remain_p if together else None,
            "remaining_clients": len(REMAIN[r]) if together else None,
            **counts("remaining", remain_lira.unlearned, remain_lira.oracle, known=together),
            "remaining_told": client_attack(remain[0], same_remain, own).told if together else None,
            "paired_auc": paired.auc.mean() if together else paired.auc[place],
            "paired_p": paired.pooled_p_value if together else paired.p_value[place],
            "paired_adjusted": None if together else paired.adjusted[place],
            "twins_auc": test.auc[place],
            "twins_null": test.null_deviation,
            "twins_lira_auc": twins_lira.auc[place],
            "twins_lira_null": twins_lira.null_deviation,
            "twins_lira_p": twins_lira_p[place],
            **counts("twins_lira", twins_lira.unlearned[:, place], twins_lira.oracle[:, place]),
            "twins_shift": test.shift[place],
            "original_auc": original.auc[place],
            "placebo_auc": mann_whitney(half[::2], half[1::2]),
            "placebo_null": auc_null_deviation(20, 20),
            "ruli_privacy": privacy.auc[place],
            "ruli_efficacy": efficacy.auc[place],
            "ruli_null": privacy.null_deviation,
            "relearn": relearned.ratio if together else None,
            "relearn_low": relearned.low if together else None,
            "relearn_high": relearned.high if together else None,
            "relearn_seeds": relearned.seeds if together else None,
            "relearn_left_out": relearned.left_out if together else None,
            "relearn_bound": relearned.bound if together else None,
            "share": share.value,
            "share_low": share.low,
            "share_high": share.high,
            "forgotten": verdict(float(test.auc[place]), test.null_deviation, share, enough=False),
        }
        assert {*wanted, "client"} == {column.name for column in FORGETTING.columns}
        found = rows.loc[client]
        for name, value in wanted.items():
            same_value = pd.isna(found[name]) if value is None else found[name] == pytest.approx(value, abs=1e-9)
            assert same_value, f"client {client}: {name} is {found[name]}, expected {value}"


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
