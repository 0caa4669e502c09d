"""What a budget's certificate is worth is what a full recount of that row gives; other rows stay empty."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch

from sifu.config.requests import RandomRequests
from sifu.core.keys import Keys
from sifu.plan.load import load_scenario
from sifu.plan.variants import build_method
from sifu.stages.block import Block, read_lineage
from sifu.stages.partition import run_partition
from sifu.stages.rows import Cell, cell_rows
from sifu.stages.train import run_train
from sifu.stages.unlearn import run_unlearn
from sifu.store.parquet import read_table
from sifu.store.paths import stop_name
from sifu.store.schemas import CELLS
from sifu.unlearning.answer_numbers import answer_numbers, certificate_numbers
from sifu.unlearning.method import Method, OwnTraining
from sifu.unlearning.request import draw_requests
from sifu.unlearning.same_start import COUNTED, fill_same_starts
from sifu.unlearning.sequence import answer_requests, budget_rule
from sifu.unlearning.worth import Spent, Worth
from tests.conftest import REPO

KEY = ["stop", "seed", "request"]
SHARES = (0.33, 0.5)  # of the training: some recoveries end before the target, some at it, some after it


class Ran(NamedTuple):
    """A method's table, and the same rows of budgets with every certificate counted by replays."""

    cells: pd.DataFrame
    again: pd.DataFrame


@pytest.fixture(scope="module")
def block(tmp_path_factory: pytest.TempPathFactory) -> Block:
    root = tmp_path_factory.mktemp("same_start")
    scenario = load_scenario(REPO / "config" / "scenarios.yaml", "smoke", root)
    scenario = replace(
        scenario,
        partition=replace(scenario.partition, examples=5),
        federation=replace(scenario.federation, clients_per_round=3, local_steps=2, batch_size=5),
        stop=replace(scenario.stop, accuracy=0.6, min_rounds=7, max_rounds=24),
        requests=RandomRequests(num_requests=3, size=2),
        budgets=SHARES,
    )
    run_partition("smoke", scenario, range(3), root, data_root=root)
    return Block("smoke", scenario, range(3), root / "partition.parquet", root)


def run(block: Block, folder: Path, name: str, sigma: float = 0.02, preset: str = "published", **settings: Any) -> Ran:
    """A method's answers, as the stage stores them and counted again."""
    certificate = replace(block.scenario.certificate, sigma=sigma, preset=preset)
    method = build_method(name, settings, certificate)
    if isinstance(method, OwnTraining):
        block = replace(block, scenario=method.training(block.scenario))
    run_train(block, folder)
    history, training = folder / "history.safetensors", folder / "cells.parquet"
    run_unlearn(block, name, method, folder / name, history=history, training=training)
    cells = read_table(folder / name / "cells.parquet", CELLS)
    return Ran(cells, recounted(block, method, history, training))


def recounted(block: Block, method: Method, history: Path, training: Path) -> pd.DataFrame:
    scenario, keys = block.scenario, Keys.of(block.seeds)
    lineage = read_lineage(block, block.engine(), history)
    steps = torch.tensor(read_table(training, CELLS)["client_steps"].to_numpy())
    found = []
    for share in scenario.budgets:
        rule, forget = budget_rule(scenario, share, steps), draw_requests(scenario, keys)
        for answer in answer_requests(method, lineage, forget, scenario, rule, keys.fold("unlearn")):
            cell = Cell(block.name, method.name, stop_name(share), block.seeds, answer.request.number)
            numbers = answer_numbers(answer, method, lineage, scenario, counted=True)
            found.append(cell_rows(answer.unlearned.segment.status, answer.work, cell, **numbers))
    return pd.concat(found)


def assert_as_recounted(ran: Ran, *, at_end: bool = False) -> None:
    """A row that is filled has the numbers of the recount, all of them; any other row has none. Without the models,
    as of a stored table, the same rows are filled.
    """
    own, again = (table.set_index(KEY).sort_index() for table in (ran.cells[ran.cells["stop"] != "target"], ran.again))
    filled = own["actual_epsilon"].notna()
    assert own.loc[~filled, list(COUNTED)].isna().all(axis=None)
    for name in COUNTED:
        there, expected = (table.loc[filled, name].to_numpy(float) for table in (own, again))
        np.testing.assert_allclose(there, expected, rtol=1e-6, atol=1e-9, err_msg=name)
    empty = ran.cells.copy()
    empty.loc[empty["stop"] != "target", list(COUNTED)] = np.nan
    pd.testing.assert_frame_equal(fill_same_starts(empty, at_end=at_end), ran.cells)


def filled(ran: Ran, *seed_and_request: int) -> list[str]:
    """The budgets of which a seed's answer is filled."""
    rows = ran.cells.set_index(KEY[1:]).loc[seed_and_request]
    return rows.loc[rows["actual_epsilon"].notna() & (rows["stop"] != "target"), "stop"].tolist()


def test_sifu(block: Block, tmp_path: Path) -> None:
    ran = run(block, tmp_path, "sifu", sigma=0.006, preset="released")
    assert_as_recounted(ran)
    nodes = ran.cells.set_index(KEY)[["branch", "cut_round"]]
    both = ["budget_33", "budget_50"]
    assert all(filled(ran, seed, 1) == both for seed in block.seeds)  # in the training
    assert tuple(nodes.loc["target", 0, 2]) == (1, 1)
    assert filled(ran, 0, 2) == both  # in a branch that all have
    assert nodes.loc["target", 2, 2].tolist() != nodes.loc["budget_33", 2, 2].tolist()
    assert filled(ran, 2, 2) == ["budget_50"]  # in a branch that ended before
    assert {tuple(nodes.loc[stop, 2, 3]) for stop in ("target", *both)} == {(2, 3)}
    assert filled(ran, 2, 3) == ["budget_50"]  # the same round of a branch that began elsewhere
    other, target = ran.again.set_index(KEY).loc["budget_33", 2, 3], ran.cells.set_index(KEY).loc["target", 2, 3]
    assert other["alpha"] != pytest.approx(target["alpha"], rel=1e-3)


@pytest.mark.second
@pytest.mark.parametrize("name", ["sifu", "last", "exact_rollback"])
def test_other_methods(block: Block, tmp_path: Path, name: str) -> None:
    ran = run(block, tmp_path, name)
    assert_as_recounted(ran)
    assert all(filled(ran, seed, 1) for seed in block.seeds)
    assert ran.cells["actual_epsilon"].isna().any()


def test_noise_at_the_end(block: Block, tmp_path: Path) -> None:
    """Filled where the recovery has as many rounds."""
    ran = run(replace(block, scenario=replace(block.scenario, budgets=(0.42,))), tmp_path, "sifu", noise="end")
    assert_as_recounted(ran, at_end=True)
    rounds = ran.cells.set_index(KEY)["rounds"]
    same = [seed for seed in block.seeds if rounds["target", seed, 1] == rounds["budget_42", seed, 1]]
    assert [seed for seed in block.seeds if filled(ran, seed, 1)] == same
    assert 0 < len(same) < len(block.seeds)


@pytest.mark.second
def test_noise_in_every_round(block: Block, tmp_path: Path) -> None:
    """It is judged by the rounds before the request."""
    ran = run(block, tmp_path, "dp_fedavg", clip=0.1)
    assert_as_recounted(ran)
    rounds = ran.cells.set_index(KEY)["rounds"]
    for seed in block.seeds:
        assert filled(ran, seed, 1) == ["budget_33", "budget_50"]
        same = [stop for stop in ("budget_33", "budget_50") if rounds[stop, seed, 1] == rounds["target", seed, 1]]
        assert filled(ran, seed, 2) == same


def row(stop: str, request: int = 1, **more: Any) -> dict[str, Any]:
    promise = {"sigma": 0.1, "psi": 0.2, "psi_star": 0.3, "claimed_epsilon": 10.0, "claimed_delta": 0.01}
    place = {"scenario": "a", "variant": "b", "stop": stop, "seed": 0, "request": request, "branch": 0, "cut_round": 5}
    numbers = {"rounds": 50, "covers": 1, "covers_everyone": None, "group": 2 * request}
    return place | promise | numbers | dict.fromkeys(COUNTED) | more


@pytest.mark.parametrize(
    ("more", "is_filled"),
    [
        ({}, True),
        ({"rounds": 20}, True),
        ({"cut_round": 4}, False),
        ({"branch": -1}, False),
        ({"sigma": 0.2}, False),
        ({"psi": 0.1}, False),
        ({"claimed_epsilon": None}, False),
        ({"covers_everyone": True}, False),
        ({"model": "other"}, False),
        ({"seed": 1}, False),
    ],
)
def test_what_must_be_the_same(more: dict[str, Any], is_filled: bool) -> None:
    target = row("target", actual_epsilon=7.0, actual_delta=0.5, model="one")
    table = fill_same_starts(pd.DataFrame([row("budget_25", model="one") | more, target]))
    assert table["actual_epsilon"].notna().tolist() == [is_filled, True]
    assert table["actual_delta"].tolist()[not is_filled :] == [0.5] * (1 + is_filled)


def test_a_number_of_its_own_stays() -> None:
    rows = [row("target", actual_epsilon=7.0), row("budget_25", actual_epsilon=8.0)]
    assert fill_same_starts(pd.DataFrame(rows))["actual_epsilon"].tolist() == [7, 8]


def test_the_columns_are_those_that_are_counted() -> None:
    spent = Spent(*[torch.zeros(1)] * 2)
    worth = Worth((torch.zeros(1),) * 2, *[torch.zeros(1)] * 5, spent=spent)
    answer = SimpleNamespace(worth=worth, unlearned=SimpleNamespace(promise=None))
    assert set(certificate_numbers(answer)) == set(COUNTED)  # type: ignore[arg-type]
