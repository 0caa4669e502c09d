"""Versions: pyproject.toml says which ones work, constraints.txt which ones are tested; all else points to them."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from importlib.util import find_spec

import pytest
import yaml
from packaging.requirements import Requirement

from tests.conftest import REPO

PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
NEEDED = [pin for group in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()) for pin in group]
RANGES = [Requirement(text) for text in NEEDED if not text.startswith("triton;")]  # torch for CUDA has its own Triton
CONSTRAINTS = (REPO / "constraints.txt").read_text().splitlines()


def test_environment_yml_only_points_to_the_pins() -> None:
    environment = yaml.safe_load((REPO / "environment.yml").read_text())
    *packages, pip = environment["dependencies"]
    assert packages == [f"python{PROJECT['requires-python']}", "pip"]
    assert pip == {"pip": ["-c constraints.txt", "-e .[dev,slurm]"]}


@pytest.mark.parametrize("needed", RANGES, ids=str)
def test_every_direct_dependency_is_tested_in_one_version(needed: Requirement) -> None:
    pins = dict(line.lower().split("==") for line in CONSTRAINTS)
    tested = pins[needed.name.lower()]
    assert tested in needed.specifier
    if needed.name == "flwr" and find_spec("flwr") is None:
        return  # `make test-flower` has an environment of its own: tests/flower/test_versions.py
    assert version(needed.name).split("+")[0] == tested, "the version that is installed here"


def test_other_versions_may_be_installed() -> None:
    """Next to a package with its own wishes; only tools that the tests need are exact."""
    for text in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["slurm"]):
        assert [part.operator for part in Requirement(text).specifier if part.operator == "=="] == [], text
        assert ">=" in text


def test_constraints_are_names_and_versions_only() -> None:
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line) for line in CONSTRAINTS)
    assert not any(line.lower().startswith(("nvidia", "cuda", "triton")) for line in CONSTRAINTS)


def test_python_versions_agree() -> None:
    tool = tomllib.loads((REPO / "pyproject.toml").read_text())["tool"]
    assert tool["ruff"]["target-version"] == "py311"
    assert PROJECT["requires-python"].startswith(">=3.11")
