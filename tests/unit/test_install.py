"""workflow/install.sh, with Pythons that only say their version: what a user reads when `make` cannot install."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import REPO

_PYTHON = """#!/bin/sh
case "$*" in
  "-c "*) echo {version} ;;
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && touch "$3/pyvenv.cfg" ;;
  "-m pip --version") {pip} ;;
  *) echo "no index" >&2; exit 1 ;;
esac
"""


def fake(path: Path, version: str, pip: str = "exit 0") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_PYTHON.format(version=version, pip=pip))
    path.chmod(0o755)
    return path


def install(python: Path, folder: Path) -> str:
    """The last line of an installation, none of which can succeed here."""
    environment = os.environ | {"PATH": f"{python.parent}:/usr/bin:/bin"}
    command = ["sh", str(REPO / "workflow" / "install.sh"), str(python), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("version", ["3.10", "3.14", "2.7"])
def test_another_python_is_refused_before_anything_is_made(version: str, tmp_path: Path) -> None:
    fake(tmp_path / "python3.12", "3.12")
    last = install(fake(tmp_path / "other", version), tmp_path / ".venv")
    assert last.endswith(f"is Python {version}; Python 3.11 to 3.13 is needed: name one, such as make PY=python3.12")
    assert not (tmp_path / ".venv").exists()


def test_a_python_that_is_none(tmp_path: Path) -> None:
    assert "python9 is no Python that runs here; Python 3.11" in install(tmp_path / "python9", tmp_path / ".venv")


@pytest.mark.parametrize(("version", "pip"), [("3.10", "exit 0"), ("3.12", "exit 1")], ids=["3.10", "half-made"])
def test_an_environment_that_is_of_no_use_is_made_again(version: str, pip: str, tmp_path: Path) -> None:
    old = fake(tmp_path / ".venv" / "bin" / "python", version, pip)
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    (tmp_path / ".venv" / "leftover").touch()
    python = fake(tmp_path / "python3.12", "3.12")
    assert install(python, tmp_path / ".venv").endswith("follow docs/offline.md")
    assert old.read_text() == python.read_text()
    assert not (tmp_path / ".venv" / "leftover").exists()


def test_no_network_points_to_the_page(tmp_path: Path) -> None:
    last = install(fake(tmp_path / "python3.12", "3.12"), tmp_path / ".venv")
    assert last.startswith("error: the packages could not be installed, see above; without a network")
    assert (REPO / "docs" / "offline.md").exists()


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "work").touch()
    assert "is no virtual environment" in install(fake(tmp_path / "python3.12", "3.12"), tmp_path / "mine")
    assert (tmp_path / "mine" / "work").exists()
