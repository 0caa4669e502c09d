"""How long a round takes, roughly: which cells `verify-paper` has time for."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from sifu.replication.claims.stored_tables import StoredTables
from sifu.replication.recheck.pace import pace_of
from sifu.replication.recheck.stored_run import StoredRun
from sifu.store.cell import CellKey
from tests.conftest import REPO


def test_a_gpu_has_time_for_networks_and_a_cpu_has_not(tmp_path: Path) -> None:
    """CIFAR-10's round has 12.9 GFLOP (docs/performance.md: 34.9 TFLOP/s in 0.369 ms): 0.26 s, or 4.3 ms. A fifth of
    ten minutes is 120 s, and a cell has some 4,000 rounds. 5,000 digits: 10 clients, 10 steps, 50 examples, 784 x 10
    weights, forward and back with 2 operations each, 157 MFLOP, take 3.1 ms, or the least of a GPU.
    """
    (tmp_path / "cifar10").mkdir()
    for name in ("train", "test"):
        (tmp_path / "cifar10" / f"{name}.parquet").touch()
    of = partial(pace_of, REPO / "config", data_root=tmp_path)
    slow, fast = (of("cifar10", kind=kind).round_seconds for kind in ("cpu", "cuda"))
    assert slow == pytest.approx(0.258, rel=0.02)
    assert fast == pytest.approx(0.0043, rel=0.02)
    assert 4000 * fast < 120 < 4000 * slow
    small = [of("mnist_embedded", kind=kind).round_seconds for kind in ("cpu", "cuda")]
    assert small == [pytest.approx(0.00314, rel=0.01), 0.002]


def test_seeds_that_run_together_wait_for_the_slowest() -> None:
    """Training: 100 or 120 rounds. Two requests: 50 and 70, or 60 and 30. Alone 220 or 210; together 120 + 60 + 70."""
    training = pd.DataFrame({"scenario": "a", "variant": "train", "seed": [0, 1], "request": 0, "rounds": [100, 120]})
    cells = pd.DataFrame(
        [("a", "sifu", "target", seed, number, rounds) for seed, number, rounds in _REQUESTS],
        columns=[*CellKey._fields, "rounds"],
    )
    others = cells.assign(variant="last", rounds=1000), cells.assign(stop="budget_25", rounds=1000)
    tables = StoredTables(pd.concat([cells, *others]), *[pd.DataFrame()] * (len(fields(StoredTables)) - 1))
    stored, cell = StoredRun(Path(), tables, training), CellKey("a", "sifu", "target", 0, 1)
    assert [stored.rounds(cell, seeds) for seeds in (range(1), range(1, 2), range(2))] == [220, 210, 250]


_REQUESTS = ((0, 1, 50), (0, 2, 70), (1, 1, 60), (1, 2, 30))  # seed, request, rounds
