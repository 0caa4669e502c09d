"""One list of versions: pyproject.toml and constraints.txt; everything else points to them."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version

import pytest
import yaml

from tests.conftest import REPO

PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
NEEDED = [pin for group in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()) for pin in group]
PINS = [pin for pin in NEEDED if not pin.startswith("triton;")]  # torch for CUDA pins a Triton of its own
CONSTRAINTS = (REPO / "constraints.txt").read_text().splitlines()


def test_environment_yml_only_points_to_the_pins() -> None:
    environment = yaml.safe_load((REPO / "environment.yml").read_text())
    *packages, pip = environment["dependencies"]
    assert packages == [f"python{PROJECT['requires-python']}", "pip"]
    assert pip == {"pip": ["-c constraints.txt", "-e .[dev,slurm]"]}


@pytest.mark.parametrize("pin", PINS)
def test_every_direct_dependency_is_pinned_and_installed(pin: str) -> None:
    name, pinned = pin.split("==")
    assert version(name).split("+")[0] == pinned
    assert f"{name.lower()}=={pinned}" in [line.lower() for line in CONSTRAINTS]


def test_constraints_are_names_and_versions_only() -> None:
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line) for line in CONSTRAINTS)
    assert not any(line.lower().startswith(("nvidia", "cuda", "triton")) for line in CONSTRAINTS)


def test_python_versions_agree() -> None:
    tool = tomllib.loads((REPO / "pyproject.toml").read_text())["tool"]
    assert tool["ruff"]["target-version"] == "py311"
    assert PROJECT["requires-python"].startswith(">=3.11")
