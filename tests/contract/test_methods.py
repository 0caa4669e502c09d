"""Every registered method, under every check: a new method is tested by being registered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sifu.methods import METHODS, build_method
from sifu.methods.method import Method
from tests.contract.checks import CHECKS
from tests.contract.world import SCENARIO

PRESETS = ("published", "released", "strict")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", list(METHODS))
def test_contract(name: str, check: Callable[[Method], None]) -> None:
    check(build_method(name, {}, SCENARIO.certificate))


@pytest.mark.parametrize("name", list(METHODS))
def test_a_method_is_named_as_it_is_registered(name: str) -> None:
    method = build_method(name, {}, SCENARIO.certificate)
    assert method.name == name
    assert method.assumptions.stores
    assert method.assumptions.reference
