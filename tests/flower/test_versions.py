"""The versions that Flower is tested with are those of constraints.txt."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from tests.unit.test_environment import CONSTRAINTS

pytestmark = pytest.mark.flower


@pytest.mark.parametrize("name", ["flwr", "ray", "rich"])
def test_flower_is_tested_in_one_version(name: str) -> None:
    assert f"{name}=={version(name)}" in CONSTRAINTS
