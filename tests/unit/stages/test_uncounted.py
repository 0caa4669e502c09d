"""A scenario may do without what is costly: the replays behind certificates, and measured influence of clients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sifu.plan.load import load_scenario
from sifu.plan.variants import build_method
from sifu.stages.alpha import run_alpha
from sifu.stages.block import Block
from sifu.stages.partition import run_partition
from sifu.stages.train import run_train
from sifu.stages.unlearn import run_unlearn
from sifu.store.experiment_schemas import ALPHA
from sifu.store.parquet import read_table
from sifu.store.schemas import CELLS
from tests.conftest import REPO

COUNTED = ["strict_psi", "single_psi", "everyone_psi", "alpha", "actual_epsilon", "actual_delta"]
PROMISED = ["sigma", "psi", "psi_star", "claimed_epsilon", "claimed_delta", "covers"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Block:
    root = tmp_path_factory.mktemp("uncounted")
    scenario = load_scenario(REPO / "config" / "scenarios.yaml", "smoke", root)
    scenario = replace(scenario, budgets=(), alpha_clients=0, count_certificates=False)
    run_partition("smoke", scenario, range(2), root, data_root=root)
    block = Block("smoke", scenario, range(2), root / "partition.parquet", root)
    run_train(block, root / "train")
    return block


def test_certificates_are_claimed_but_not_counted(trained: Block, tmp_path: Path) -> None:
    method = build_method("sifu", {}, trained.scenario.certificate, "sifu")
    folder = trained.partition.parent / "train"
    run_unlearn(
        trained,
        "sifu",
        method,
        tmp_path,
        history=folder / "history.safetensors",
        training=folder / "cells.parquet",
    )
    cells = read_table(tmp_path / "cells.parquet", CELLS)
    assert cells[COUNTED].isna().all(axis=None)
    assert cells[PROMISED].notna().all(axis=None)


def test_without_clients_nothing_is_measured(trained: Block, tmp_path: Path) -> None:
    run_alpha(trained, tmp_path, history=trained.partition.parent / "train" / "history.safetensors")
    assert read_table(tmp_path / "alpha.parquet", ALPHA).empty
