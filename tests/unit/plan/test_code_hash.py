"""The code hash follows what a stage really uses, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sifu.plan.code_hash import used_modules
from tests.conftest import REPO

PARTITION = ("sifu.stages.partition", "sifu.data.embedded")
TRAIN = ("sifu.stages.train", "sifu.data.embedded", "sifu.models.logistic")


def test_stages_use_what_they_use() -> None:
    partition, train = used_modules(*PARTITION), used_modules(*TRAIN)
    assert {"sifu.data.partition", "sifu.core.keys", "sifu.store.parquet", "sifu.store.schemas"} <= partition
    assert (
        not {
            "sifu.federation.engine",
            "sifu.models.cnn",
            "sifu.federation.local.dual",
            "sifu.data.mnist",
            "sifu.methods.sifu",
        }
        & partition
    )
    assert {
        "sifu.federation.engine",
        "sifu.federation.local.dual",
        "sifu.models.logistic",
        "sifu.data.clients",
    } <= train
    assert not {"sifu.models.cnn", "sifu.bench", "sifu.docs", "sifu.__main__", "sifu.data.celeba"} & train


def hashes(root: Path) -> tuple[str, str]:
    """The hashes of the two stages, computed by a copy of the package."""
    code = f"from sifu.plan.code_hash import code_hash; print(code_hash(*{PARTITION}), code_hash(*{TRAIN}))"
    result = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    partition, train = result.stdout.split()
    return partition, train


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    shutil.copytree(REPO / "sifu", tmp_path / "sifu", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize(
    ("module", "addition", "changes_partition", "changes_train"),
    [
        ("federation/engine.py", "\nNEW = 1\n", False, True),
        ("data/partition.py", "\nNEW = 1\n", True, False),
        ("core/keys.py", "\nNEW = 1\n", True, True),
        ("models/cnn.py", "\nNEW = 1\n", False, False),
        ("bench/rounds.py", "\nNEW = 1\n", False, False),
        ("library/train.py", "\nNEW = 1\n", False, False),
        ("federation/engine.py", "\n# a comment\n\n\n", False, False),
    ],
)
def test_an_edit_changes_the_stages_that_use_it(
    copied: Path, module: str, addition: str, changes_partition: bool, changes_train: bool
) -> None:
    before = hashes(copied)
    with (copied / "sifu" / module).open("a") as file:
        file.write(addition)
    after = hashes(copied)
    assert (before[0] != after[0], before[1] != after[1]) == (changes_partition, changes_train)


def test_relative_imports_are_refused(copied: Path) -> None:
    """They would not be followed, and a change would go unnoticed."""
    with (copied / "sifu" / "federation" / "engine.py").open("a") as file:
        file.write("from . import bench\n")
    with pytest.raises(subprocess.CalledProcessError):
        hashes(copied)


def test_a_docstring_is_not_code(copied: Path) -> None:
    before = hashes(copied)
    path = copied / "sifu" / "federation" / "engine.py"
    path.write_text('"""Another story."""' + path.read_text().split('"""', 2)[2])
    assert hashes(copied) == before
