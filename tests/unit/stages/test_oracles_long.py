"""With two hundred models a world, as the default job has them: what never saw a client is at its null, and the
original is far above.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sifu.forgetting.auc import auc, auc_null_deviation
from sifu.plan.load import load_scenario
from sifu.plan.variants import build_method
from sifu.stages.block import Block
from sifu.stages.forgetting import cells, run_forgetting
from sifu.stages.kept_margins import KeptMargins
from sifu.stages.oracle_worlds import World, Worlds
from sifu.stages.oracles import Asked, Oracles, run_oracles
from sifu.stages.partition import run_partition
from sifu.store.forgetting_schemas import FORGETTING
from sifu.store.margins import MarginFiles
from sifu.store.oracle_schemas import POINTS, WITH_TWIN
from sifu.store.parquet import read_table
from sifu.store.provenance import provenance
from tests.conftest import REPO

MODELS = range(200)
NULL = auc_null_deviation(200, 200)  # 0.029


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default job's scenario, and its folder."""
    folder = tmp_path_factory.mktemp("many")
    block = many(folder)
    run_partition(block.name, block.scenario, range(1), folder, data_root=Path("data"))
    names = ("scratch", "blurred_scratch", "fine_tuning")
    methods = {name: build_method(name, {}, block.scenario.certificate, "") for name in names}
    run_oracles(block, Asked(methods), folder, federation=range(1))
    run_forgetting(block.name, [folder], folder, provenance("forgetting", {}, "", "cpu"))
    return folder


def many(folder: Path) -> Block:
    name = "mnist_embedded_twins"
    scenario = load_scenario(REPO / "config" / "scenarios.yaml", name, Path("data"))
    return Block(name, scenario, MODELS, folder / "partition.parquet", Path("data"))


@pytest.mark.long  # test_oracles.py has twelve models a world
def test_what_never_saw_the_client_is_at_its_null(made: Path) -> None:
    table = read_table(made / "forgetting.parquet", FORGETTING)
    rows = table[table["client"] == -1].set_index("variant")
    assert rows.loc["original", "twins_auc"] > 0.95
    for name in ("scratch", "blurred_scratch"):
        assert abs(rows.loc[name, "twins_auc"] - 0.5) < 3 * NULL
        assert rows.loc[name, "forgotten"] == "yes"
    assert rows.loc["fine_tuning", "forgotten"] == "no"
    assert abs(rows.loc["scratch", "retrain_auc"] - 0.5) < 3 * rows.loc["scratch", "retrain_null"]  # oracles, oracles
    assert rows.loc["blurred_scratch", "retrain_auc"] > 0.5 + 3 * rows.loc["scratch", "retrain_null"]
    assert rows.loc["blurred_scratch", "remaining_auc"] > 0.6  # the whole model is shifted, not the client's part


@pytest.mark.long
def test_twin_against_twin_is_at_its_null(made: Path) -> None:
    """The twins' world again with the draws of other seeds: nothing differs."""
    block = replace(many(made), seeds=range(1000, 1000 + len(MODELS)))
    worlds = Worlds(replace(block, seeds=range(1)), (1,))
    twins = next(world for world in worlds if world.name == WITH_TWIN)
    method = {"fine_tuning": build_method("fine_tuning", {}, block.scenario.certificate, "")}
    kept = KeptMargins(made / "again", "", provenance("oracles", {}, "", "cpu"))
    parts = Oracles(block, worlds, World(twins.name, twins.engine, (1,)), Asked(method), kept).parts()
    again = [row for part in parts for row in part.to_dict("records")]
    files, points = MarginFiles([made / "margins.parquet"]), read_table(made / "points.parquet", POINTS)
    stored = {cell.variant: cell for cell in cells(files, points)}
    chosen = [((points["owner"] == owner) & (points["left_at"] == 1)).to_numpy() for owner in ("client", "twin")]
    for variant in ("original", "fine_tuning"):
        new = np.stack([row["margins"] for row in again if row["variant"] == variant]).astype(np.float64)
        old = stored[variant].models(variant, WITH_TWIN).margins
        first, second = (one[:, chosen[0]].mean(1) - one[:, chosen[1]].mean(1) for one in (old, new))
        assert abs(float(auc(first, second)) - 0.5) < 3 * NULL
