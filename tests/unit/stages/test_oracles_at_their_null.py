"""What never saw a client is at the twin test's null, and the model before the request is far above: with a hundred
models a world of a tiny federation. test_oracles_long.py has two hundred of the default job's.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sifu.config.fields import build
from sifu.config.scenario import Scenario
from sifu.forgetting.auc import auc, auc_null_deviation
from sifu.forgetting.sample import Floats
from sifu.plan.variants import build_method
from sifu.stages.block import Block
from sifu.stages.oracles import Asked, run_oracles
from sifu.stages.partition import run_partition
from sifu.stages.two_questions import TwoQuestions
from sifu.store.margins import MarginFiles
from sifu.store.oracle_schemas import POINTS, WITH_CLIENT, WITH_TWIN
from sifu.store.parquet import read_table
from tests.unit.stages.tiny_oracles import TINY

MODELS = 100
CLEAN = ("scratch", "blurred_scratch")
Differences = dict[str, tuple[Floats, Floats]]  # with the clients, with the twins: [N] each


@pytest.fixture(scope="module")
def differences(tmp_path_factory: pytest.TempPathFactory) -> Differences:
    """Of each kind of models their mean margins on the clients' data less those on the twins', in both worlds."""
    folder, scenario = tmp_path_factory.mktemp("null"), build(Scenario, TINY, "tiny")
    run_partition("tiny", scenario, range(1), folder, data_root=Path("data"))
    block = Block("tiny", scenario, range(MODELS), folder / "partition.parquet", Path("data"), threads=1)
    methods = {name: build_method(name, {}, scenario.certificate, "") for name in CLEAN}
    run_oracles(block, Asked(methods), folder, federation=range(1))
    files, points = MarginFiles([folder / "margins.parquet"]), read_table(folder / "points.parquet", POINTS)
    cells = {name: TwoQuestions(files, points, name, "original", 1) for name in ("original", *CLEAN)}
    return {name: (difference(one, WITH_CLIENT), difference(one, WITH_TWIN)) for name, one in cells.items()}


def difference(cell: TwoQuestions, world: str) -> Floats:
    """[N]"""
    own, twins = cell.on_clients_and_twins(world)
    return (own - twins).mean(1)


@pytest.mark.second
def test_what_never_saw_the_client_is_at_its_null(differences: Differences) -> None:
    """The null's deviation is sqrt((100 + 100 + 1) / (12 100 100)) = 0.041: an AUC of 1 is 12 of them away."""
    deviation = auc_null_deviation(MODELS, MODELS)
    away = {name: (float(auc(*worlds)) - 0.5) / deviation for name, worlds in differences.items()}
    assert all(abs(away[name]) < 3 for name in CLEAN)
    assert away["original"] > 10


@pytest.mark.second
def test_twins_against_twins_are_at_their_null(differences: Differences) -> None:
    """One half of the twins' world against the other: nothing differs but the draws, though twins are remembered."""
    for _, twins in differences.values():
        half, other = twins[::2], twins[1::2]
        assert abs(float(auc(half, other)) - 0.5) < 3 * auc_null_deviation(len(half), len(other))
