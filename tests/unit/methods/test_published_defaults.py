"""The numbers that papers and their code give for their methods, as the defaults of settings."""

from __future__ import annotations

from typing import Any

import pytest

from sifu.config.variant import Variant
from sifu.contract.world import SCENARIO
from sifu.plan.load import load_variant
from sifu.plan.variants import build_method, method_of
from tests.conftest import REPO

# method -> the numbers of what its `specified_from` names; where that says "ours", its docstring has the reason
PUBLISHED: dict[str, dict[str, Any]] = {
    "fed_eraser": {"every": 2, "calibration": 0.5},  # dt, r
    "gradient_ascent": {"lr": 0.01, "momentum": 0.9, "clip": 5.0, "epochs": 5.0}
    | {"radius": 0.577, "stop_distance": 1.48}  # roots of 1/3 and 2.2, which are of squared distances
    | {"stop": "accuracy", "stop_accuracy": 0.12},
    "rapid_retraining": {"curvature": "fisher", "lr": 1e-3, "damping": 1e-3},
    "subtract_and_distil": {"rule": "lazy", "temperature": 3.0, "lr": 1e-3, "epochs": 10.0},
    "bfu": {"factor": 0.1, "lr": 1e-3, "clip": 5.0, "epochs": 50.0}  # 10 local epochs and 40 more; of MNIST
    | {"stop_accuracy": 0.1, "average": "everyone"},
    "negation": {"layers": (0,)},
    "fed_osd": {"lr": 4e-4, "guarded_lr": 1e-6, "decay": 0.999, "epochs": 1.0},  # of the published command
    "fed_quit": {"target": "smallest", "lr": 1e-4, "epochs": 1.0, "batch_size": 32, "as_released": False},
    "puf": {"updates": "special", "factor": None},  # null: 2 for special
    "fed_recover": {"warm_up": 20, "every": 20, "final": 5, "pairs": 2, "tolerance": 1e-6},
    "fed_recovery": {"noise": "given", "sigma": 0.0},  # the paper's noise is for its own bound: none by default
    "conda": {"factor": 0.5, "bound": 0.5, "cutoff": 0.5, "origin": "initial", "as_released": False},
    "mode": {"keep": 0.95, "degrade_rounds": 6, "guided_rounds": 10, "guided_lr": 5e-4, "forgotten_lr": 5e-4},
    "sifu": {"noise": "start"},
    "fats": {"rho": 0.25, "rounds": 100},
}
# settings of variants that stand for what was published where the default is shorter
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "fed_osd": ("the published command: UR = 100 of R = 200", {"rounds": 100, "guarded_rounds": 100}),
    "mode_ported": ("the port's other step sizes", {"degrade_lr": 0.1, "forgotten_lr": 0.1}),
    "puf_regular": ("alessiomora/puf_unlearning 9c89bd7: 20 for regular", {"updates": "regular", "factor": 20.0}),
    "scratch_adam": ("Kingma and Ba 2015", {"curvature": "gradient", "lr": 1e-3, "damping": 1e-8}),
    "sifu_noise_at_end": ("R2D: Mu and Klabjan, NeurIPS 2025", {"noise": "end"}),
    "fed_recovery_noised": ("the paper has noise", {"noise": "hidden"}),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_defaults_are_those_of_their_source(name: str) -> None:
    numbers, method = PUBLISHED[name], build_method(name, {}, SCENARIO.certificate)
    assert {key: getattr(method, key) for key in numbers} == numbers, method.specified_from


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_are_those_of_their_source(name: str) -> None:
    source, numbers = VARIANTS[name]
    variant: Variant = load_variant(REPO / "config" / "variants.yaml", name)
    method = method_of(name, variant, SCENARIO)
    assert {key: getattr(method, key) for key in numbers} == numbers, source
