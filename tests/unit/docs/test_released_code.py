"""The released code's numbers stand next to ours of the same quantity, dataset by dataset."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from sifu.docs.released_code import QUANTITIES, RUNS, released_code, released_in_short
from sifu.replication.claims.stored_tables import DATASETS
from tests.conftest import REPO
from tests.outcomes import Outcome
from tests.small_replication import PLAIN, World


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Two requests of MNIST: scratch takes 100, 101 and 102 rounds a request, SIFU goes back to round 200."""
    outcomes = {("mnist", "scratch"): Outcome(100, 0.1, spread=1), ("mnist", "sifu_released"): Outcome(40, 0.12)}
    tables = World(("mnist",), outcomes, marks=PLAIN).tables()
    (tmp_path / RUNS).parent.mkdir(parents=True)
    return SimpleNamespace(root=tmp_path, tables=tables, titles={"mnist": "MNIST", "cifar10": "CIFAR-10"})


def test_each_number_stands_next_to_ours_of_the_first_request(run: Any) -> None:
    lines = [
        *("scenario,seed,quantity,value", "mnist,0,scratch,99", "mnist,1,scratch,1101", "mnist,0,cut,200"),
        *("mnist,0,scratch_forgotten,0.125", "cifar10,0,training,1175"),
    ]
    (run.root / RUNS).write_text("\n".join(lines))
    text = released_code(run)
    assert "| MNIST | rounds of scratch | 99, 1,101 | 101 (100 to 102, 3 seeds) |" in text
    assert "| MNIST | round that SIFU goes back to | 200 | 200 (200 to 200, 3 seeds) |" in text
    assert "| MNIST | accuracy of scratch on forgotten clients | 0.125 | 0.100 (0.100 to 0.100, 3 seeds) |" in text
    assert "| CIFAR-10 | rounds of training | 1,175 | no seed: not run, or none recovers |" in text
    words = "(MNIST): 1 of its 4 numbers lie within the range of our seeds."
    assert released_in_short(run).endswith(words), "99, 1,101, 200 and 0.125 next to 100 to 102, 200 and 0.1"


def test_without_runs_there_is_no_section(run: Any) -> None:
    assert released_code(run) == released_in_short(run) == ""


def test_the_stored_numbers_are_known_ones() -> None:
    """Each once, of a dataset and a quantity that the page shows; accuracies are shares."""
    stored = pd.read_csv(REPO / RUNS)
    assert set(stored["scenario"]) <= set(DATASETS)
    assert set(stored["quantity"]) <= set(QUANTITIES)
    assert not stored.duplicated(["scenario", "seed", "quantity"]).any()
    assert stored.loc[stored["quantity"].str.endswith("_forgotten"), "value"].between(0, 1).all()
