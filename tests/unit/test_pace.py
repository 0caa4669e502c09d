"""How long a round takes, roughly: which cells `verify-paper` has time for."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from sifu.recheck.pace import pace_of
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
