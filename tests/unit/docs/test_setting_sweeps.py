"""What is said of a swept setting: a row a scenario and value, means over seeds."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sifu.docs.setting_sweeps import epochs_of_distillation
from sifu.store.experiment_schemas import SETTING_SWEEP
from tests.conftest import REPO
from tests.sparse_tables import write

KEY = {"scenario": "mnist_server", "variant": "subtract_and_distil", "setting": "epochs"}


def words(folder: Path) -> list[str]:
    run: Any = SimpleNamespace(folder=folder)
    return epochs_of_distillation(REPO, run).splitlines()


def test_a_row_a_number_of_epochs(tmp_path: Path) -> None:
    """Of 0.6 and 1.0 the mean is 0.80; where a seed has not arrived, rounds mean nothing; other settings stay out."""
    path = tmp_path / "setting_sweep" / "mnist_server" / "subtract_and_distil" / "s000-001" / "setting_sweep.parquet"
    done = KEY | {"value": 50.0, "status": "done", "forget_accuracy": 0.25, "start_retain_accuracy": 0.9}
    rows = [done | {"seed": seed, "rounds": 70, "start_forget_accuracy": 0.6 + 0.4 * seed} for seed in (0, 1)]
    short = KEY | {"value": 5.0, "status": "done", "forget_accuracy": 0.0, "start_retain_accuracy": 0.5}
    rows += [short | {"seed": 0, "start_forget_accuracy": 0.0}, short | {"seed": 1, "status": "not_reached"}]
    write(path, SETTING_SWEEP, rows)
    other = path.parents[1].with_name("fed_quit") / "s000-001" / "setting_sweep.parquet"
    write(other, SETTING_SWEEP, [KEY | {"variant": "fed_quit", "seed": 0}])
    assert words(tmp_path)[2:] == [
        "| MNIST, server data | 5 | - | 0.00 | 0.50 | - | 2 |",
        "| MNIST, server data | 50 | 0.80 | 0.25 | 0.90 | 70 | 2 |",
    ]
    path.unlink()
    assert words(tmp_path) == ["no scenario has been swept yet."]
