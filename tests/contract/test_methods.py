"""Every registered method, under every check: a new method is tested by being registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from sifu.catalog.methods import METHODS
from sifu.contract import method_checks as checks
from sifu.contract.method_checks import CHECKS
from sifu.contract.world import SCENARIO, World, scenario_for
from sifu.plan.variants import build_method
from sifu.unlearning.method import Method
from tests.conftest import REPO

# Rounds and steps of their own, which contract tests need few of; test-all has the settings that users get.
SHORT: dict[str, dict[str, Any]] = {
    "bfu": {"epochs": 1.0},
    "fed_osd": {"rounds": 2, "guarded_rounds": 2},
    "fed_recover": {"warm_up": 2, "every": 3, "final": 1},
    "forget_svgd": {"steps": 2},
    "gradient_ascent": {"epochs": 1.0},
    "mode": {"degrade_rounds": 2, "guided_rounds": 2},
    "subtract_and_distil": {"epochs": 2.0},
}
# Methods on models with a loss of their own are slow: checks that need a world beyond the usual one are
# long. tests/unit/unlearning/test_asked.py shows the same of what they ask for, on logistic regression.
SLOW = ("bfu", "forget_svgd")
OTHER_WORLDS = {
    *(checks.check_deterministic, checks.check_seed_by_seed, checks.check_padded_client),
    *(checks.check_forgotten_before, checks.check_server_data, checks.check_refusals),
}


def cases() -> list[Any]:
    """Every method with every check."""
    found = []
    for name in METHODS:
        for check in CHECKS:
            long = [pytest.mark.long] if name in SLOW and check in OTHER_WORLDS else []
            found.append(pytest.param(name, check, marks=long, id=f"{name}-{check.__name__}"))
    return found


@pytest.mark.parametrize(("name", "check"), cases())
def test_contract(name: str, check: Callable[[Method], None]) -> None:
    check(build_method(name, SHORT.get(name, {}), SCENARIO.certificate))


@pytest.mark.long
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", list(SHORT))
def test_contract_with_all_rounds(name: str, check: Callable[[Method], None]) -> None:
    check(build_method(name, {}, SCENARIO.certificate))


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(checks.check_seed_by_seed, marks=pytest.mark.long),
        pytest.param(checks.check_padded_client, marks=pytest.mark.long),
        checks.check_promise,
    ],
)
@pytest.mark.parametrize(
    "changes", [{"preset": "released"}, {"preset": "strict"}, pytest.param({"sets": "exact"}, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("name", ["sifu", "last", "descent_to_delete"])
def test_contract_under_every_rule(name: str, changes: dict[str, str], check: Callable[[Method], None]) -> None:
    check(build_method(name, {}, replace(SCENARIO.certificate, **changes)))  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("fed_eraser", {"length": "layer", "every": 1}),
        ("fed_eraser", {"length": "none"}),
        ("fed_eraser", {"store": "full"}),
        ("fed_accum", {"as_released": True}),
        ("dp_fedavg", {"mode": "accounted"}),
        ("scratch_again", {"start": "new"}),
        ("sifu", {"noise": "end"}),
        ("puf", {"updates": "regular", "factor": 20.0}),
        ("puf", {"updates": "stored"}),
        ("gradient_ascent", {"stop": "distance"}),
        ("rapid_retraining", {"curvature": "hutchinson"}),
        ("rapid_retraining", {"curvature": "none", "lr": 0.02}),
        ("subtract_and_distil", {"rule": "average"}),
        ("conda", {"origin": "round"}),
        ("conda", {"as_released": True}),
        ("fed_quit", {"as_released": True}),
        ("fed_recovery", {"noise": "hidden"}),
    ],
    ids=str,
)
def test_contract_of_variants(name: str, settings: dict[str, Any], check: Callable[[Method], None]) -> None:
    check(build_method(name, settings, SCENARIO.certificate))


@pytest.mark.parametrize("name", list(METHODS))
def test_a_method_is_named_as_it_is_registered(name: str) -> None:
    method = build_method(name, {}, SCENARIO.certificate)
    assert method.name == name
    assert method.assumptions.stores
    assert method.assumptions.reference


def test_a_method_has_fewer_than_90_lines() -> None:
    files = sorted((REPO / "sifu" / "methods").glob("*.py"))
    assert len(files) > len(METHODS.own)
    assert [file.name for file in files if len(file.read_text().splitlines()) >= 90] == []


# Adam divides a gradient by its own size: where that is rounding alone, weights differ by whole steps (lr 0.001)
_COARSE = {"subtract_and_distil": 5e-3}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("sets", ["max", "bound", "exact"])
@pytest.mark.parametrize("name", list(METHODS))
def test_a_gpu_gives_the_same_answers(name: str, sets: str) -> None:
    method = build_method(name, {}, replace(SCENARIO.certificate, sets=sets))
    scenario = scenario_for(method)
    on_cpu, on_gpu = (World.make(device=device, scenario=scenario).answer(method) for device in ("cpu", "cuda"))
    for cpu, gpu in zip(on_cpu, on_gpu, strict=True):
        assert torch.equal(cpu.unlearned.node.round, gpu.unlearned.node.round)
        near = _COARSE.get(name, 1e-3)
        torch.testing.assert_close(gpu.unlearned.weights, cpu.unlearned.weights, rtol=1e-2, atol=near)
