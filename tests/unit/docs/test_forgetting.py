"""What docs/forgetting.md says of the tables that are stored, and of those that are not."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from sifu.docs.forgetting import kept_tables, power_has
from sifu.forgetting.power import SCORES
from sifu.replication.published import Published, quoted
from sifu.stages.power import TWINS, WORST
from sifu.store.forgetting_schemas import POWER
from sifu.store.parquet import write_table
from sifu.store.provenance import provenance
from tests.conftest import REPO


def test_metrics_that_a_table_was_made_without_are_named(tmp_path: Path) -> None:
    assert power_has(REPO, Published(tmp_path, tmp_path, tmp_path)) == "none has been made yet"
    for scenario, metrics in (("mnist_twins", ["klom", "auc"]), ("cifar10_twins", [*SCORES, TWINS, WORST])):
        rows = pd.DataFrame({"metric": metrics}).assign(scenario=scenario, request=1, models=10, effect=0.5, oracles=20)
        path = tmp_path / "forgetting" / scenario / "s000-009" / "power.parquet"
        write_table(
            path, POWER, rows[[column.name for column in POWER.columns]], provenance("forgetting", {}, "", "cpu")
        )
    every, few = power_has(REPO, Published(tmp_path, tmp_path, tmp_path)).split("; ")
    assert every.startswith("CIFAR-10, twins: AUC, the twin test, ")
    assert "without" not in every
    assert few.startswith("MNIST, twins: AUC, KLOM (without the twin test, U-LiRA, ")
    assert few.endswith(", the NeurIPS 2023 score)")


def test_the_page_names_the_tables_that_git_keeps() -> None:
    """The packed files of the stage `forgetting`."""
    run = quoted(REPO)
    if run is None:
        pytest.skip("results/paper is not in this checkout")
    said = kept_tables(REPO, run)
    packed = (path.name.split(".")[1] for path in (run.folder / "packed").glob("*/forgetting.*.parquet"))
    assert set(re.findall(r"`(\w+)`", said)) == set(packed)
    assert said in (REPO / "docs" / "forgetting.md").read_text()
