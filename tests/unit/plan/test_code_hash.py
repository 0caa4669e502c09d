"""The code hash follows what a stage really uses, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from sifu.plan.code_hash import used_modules
from tests.conftest import REPO
from tests.fake_packages import write_package

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
    shutil.copytree(REPO / "sifu", tmp_path / "sifu")
    return tmp_path


@pytest.mark.parametrize(
    ("module", "addition", "changes_partition", "changes_train"),
    [
        ("federation/engine.py", "\nNEW = 1\n", False, True),
        pytest.param("data/partition.py", "\nNEW = 1\n", True, False, marks=pytest.mark.long),
        pytest.param("core/keys.py", "\nNEW = 1\n", True, True, marks=pytest.mark.second),
        pytest.param("models/cnn.py", "\nNEW = 1\n", False, False, marks=pytest.mark.long),
        pytest.param("bench/rounds.py", "\nNEW = 1\n", False, False, marks=pytest.mark.long),
        pytest.param("library/train.py", "\nNEW = 1\n", False, False, marks=pytest.mark.long),
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


FORGET = "outside_pkg.forget"


def outside_hash(root: Path, module: str = FORGET) -> str:
    """The hash of a module of the user, from a process in the user's folder."""
    code = f"from sifu.plan.code_hash import code_hash; print(code_hash('{module}'))"
    environment = os.environ | {"PYTHONPATH": str(REPO)}
    command = [sys.executable, "-P", "-c", code]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("forget.py", "history.current", "history.current + 0", True),
        ("helpers.py", "0.5", "0.6", True),  # by a relative import
        ("inner/__init__.py", "", "X = 1", True),  # relative imports of a package and of what is above it
        ("inner/deep.py", "1", "2", True),
        ("full.py", "1", "2", True),  # by an absolute import
        ("../neighbour.py", "1", "2", True),  # next to the package
        ("nets.py", "4", "5", False),  # of nobody's interest
        ("helpers.py", "def", "# a comment\ndef", False),
        ("../../elsewhere/third.py", "1", "2", False),  # another package, installed somewhere else
    ],
)
def test_modules_of_the_user_are_followed(tmp_path: Path, file: str, old: str, new: str, changes: bool) -> None:
    root = tmp_path / "mine"
    package = write_package(root)
    (package / "inner").mkdir()
    (package / "inner" / "__init__.py").write_text("from .. import full\nfrom . import deep\n")
    (package / "inner" / "deep.py").write_text("A = 1\n")
    (package / "full.py").write_text("B = 1\nimport outside_pkg.helpers\n")
    (root / "neighbour.py").write_text("C = 1\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "third.py").write_text("D = 1\n")
    with (package / "helpers.py").open("a") as out:
        out.write("from .inner import deep\nimport neighbour\nimport third\nimport torch, numpy.linalg, nothing\n")
    before = outside_hash(root)
    path = package / file
    path.write_text(path.read_text().replace(old, new) if old else path.read_text() + new)
    assert (outside_hash(root) != before) == changes


def test_the_users_modules_reach_into_the_suite(copied: Path) -> None:
    """A method imports the interface: it runs again when that changes."""
    write_package(copied)
    modules = subprocess.run(
        [sys.executable, "-c", f"from sifu.plan.code_hash import used_modules; print(*used_modules('{FORGET}'))"],
        cwd=copied,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert {FORGET, "outside_pkg", "outside_pkg.helpers", "sifu", "sifu.unlearning.method"} <= set(modules)
    assert "outside_pkg.nets" not in modules


def test_a_package_with_names_of_ours_is_its_own(tmp_path: Path) -> None:
    """`mypkg.federation.engine` is not `sifu.federation.engine`."""
    (tmp_path / "mypkg" / "federation").mkdir(parents=True)  # without __init__.py
    file = tmp_path / "mypkg" / "federation" / "engine.py"
    file.write_text("A = 1\n")
    before = outside_hash(tmp_path, "mypkg.federation.engine")
    file.write_text("A = 2\n")
    assert outside_hash(tmp_path, "mypkg.federation.engine") != before


def test_a_compiled_module_counts_by_its_bytes(tmp_path: Path) -> None:
    write_package(tmp_path)
    compiled = tmp_path / "outside_pkg" / f"fast{EXTENSION_SUFFIXES[0]}"
    compiled.write_bytes(b"one")
    with (tmp_path / "outside_pkg" / "helpers.py").open("a") as file:
        file.write("from outside_pkg import fast\n")
    before = outside_hash(tmp_path)
    compiled.write_bytes(b"two")
    assert outside_hash(tmp_path) != before


def test_a_release_makes_no_result_stale() -> None:
    assert "sifu.version" not in used_modules("sifu.stages.train", "sifu.stages.report")
    assert "sifu" in used_modules("sifu.stages.train"), "the rules' version counts"
