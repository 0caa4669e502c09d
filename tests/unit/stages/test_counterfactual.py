"""The stage counterfactual: cells are the same with its file and without, and a file of something else is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pandas.testing import assert_frame_equal

from sifu.config.requests import ClassRequests
from sifu.errors import StoreError
from sifu.plan.load import load_scenario
from sifu.plan.variants import build_method
from sifu.stages.block import Block, read_lineage
from sifu.stages.counterfactual import run_counterfactual
from sifu.stages.partition import run_partition
from sifu.stages.train import run_train
from sifu.stages.unlearn import run_unlearn
from sifu.store.parquet import read_table
from sifu.store.schemas import CELLS
from tests.conftest import REPO


@pytest.fixture(scope="module")
def block(tmp_path_factory: pytest.TempPathFactory) -> Block:
    root = tmp_path_factory.mktemp("counterfactual")
    scenario = replace(load_scenario(REPO / "config" / "scenarios.yaml", "smoke", root), budgets=(0.5,))
    run_partition("smoke", scenario, range(2), root, data_root=root)
    made = Block("smoke", scenario, range(2), root / "partition.parquet", root)
    run_train(made, root)
    run_counterfactual(made, root, history=root / "history.safetensors")
    return made


@pytest.mark.parametrize("name", ["sifu", "last"])
def test_cells_are_the_same_with_the_file_and_without(block: Block, tmp_path: Path, name: str) -> None:
    root, method = block.partition.parent, build_method(name, {}, block.scenario.certificate, name)
    files = {"history": root / "history.safetensors", "training": root / "cells.parquet"}
    for folder, without in (("with", root / "counterfactual.safetensors"), ("without", None)):
        run_unlearn(block, name, method, tmp_path / folder, without=without, **files)
    found, replayed = (read_table(tmp_path / folder / "cells.parquet", CELLS) for folder in ("with", "without"))
    assert_frame_equal(found, replayed, check_exact=True)
    assert (found.loc[found["stop"] == "target", "strict_psi"] > 0).any()


def test_a_file_of_other_requests_is_refused(block: Block) -> None:
    root = block.partition.parent
    other = replace(block, scenario=replace(block.scenario, requests=ClassRequests(classes=(1,))))
    with pytest.raises(StoreError, match="its settings of requests differ"):
        read_lineage(other, other.engine(), root / "history.safetensors", root / "counterfactual.safetensors")
