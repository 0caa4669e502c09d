"""The numbers that papers and their code give for their methods, as the defaults of settings."""

from __future__ import annotations

from typing import Any

import pytest

from sifu.config.variant import Variant
from sifu.contract.world import SCENARIO
from sifu.plan.load import load_variant
from sifu.plan.variants import build_method, method_of
from tests.conftest import REPO

# method -> where from, the numbers. "ours": what no source gives, with the reason in the method's docstring.
PUBLISHED: dict[str, tuple[str, dict[str, Any]]] = {
    "fed_eraser": ("the paper: dt = 2, r = 0.5", {"every": 2, "calibration": 0.5}),
    "gradient_ascent": (
        "IBM/federated-unlearning 6f51bbc, whose 1/3 and 2.2 are of squared distances; tau of FeatureCloud's port",
        {"lr": 0.01, "momentum": 0.9, "clip": 5.0, "epochs": 5.0, "radius": 0.577, "stop_distance": 1.48}
        | {"stop": "accuracy", "stop_accuracy": 0.12},
    ),
    "rapid_retraining": (
        "the paper: Fisher, eta = 1e-3; e is ours",
        {"curvature": "fisher", "lr": 1e-3, "damping": 1e-3},
    ),
    "subtract_and_distil": (
        "the paper recommends the lazy rule and a high T; the numbers are ours",
        {"rule": "lazy", "temperature": 3.0, "lr": 1e-3, "epochs": 10.0},
    ),
    "bfu": (
        "wwq5-code/BFU-Code 4f745d3: 10 local epochs and 40 more, the values for MNIST",
        {"factor": 0.1, "lr": 1e-3, "clip": 5.0, "epochs": 50.0, "stop_accuracy": 0.1, "average": "everyone"},
    ),
    "negation": ("ports of the paper: the first layer alone", {"layers": (0,)}),
    "fed_osd": (
        "zibinpan/FedOSD 41cc106, the published command",
        {"lr": 4e-4, "guarded_lr": 1e-6, "decay": 0.999, "epochs": 1.0},
    ),
    "fed_quit": (
        "alessiomora/FedQUIT e447fa0: logit_min, one epoch of Adam",
        {"target": "smallest", "lr": 1e-4, "epochs": 1.0, "batch_size": 32, "as_released": False},
    ),
    "puf": ("alessiomora/puf_unlearning 9c89bd7: 2 for special; null is that", {"updates": "special", "factor": None}),
    "fed_recover": (
        "the paper's T_w, T_c, T_f, s and alpha, as remembered",
        {"warm_up": 20, "every": 20, "final": 5, "pairs": 2, "tolerance": 1e-6},
    ),
    "fed_recovery": ("the paper's noise is for its own bound: none by default", {"noise": "given", "sigma": 0.0}),
    "conda": (
        "respailab/ConDa-Federated-Unlearning a4108eb",
        {"factor": 0.5, "bound": 0.5, "cutoff": 0.5, "origin": "initial", "as_released": False},
    ),
    "mode": (
        "a port in alessiomora/FedQUIT: lambda, r_de, r_max, the step size of the others",
        {"keep": 0.95, "degrade_rounds": 6, "guided_rounds": 10, "guided_lr": 5e-4, "forgotten_lr": 5e-4},
    ),
    "sifu": ("the paper: noise before recovery", {"noise": "start"}),
    "fats": ("ours: a hundred rounds in which a quarter of the clients is drawn", {"rho": 0.25, "rounds": 100}),
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
    source, numbers = PUBLISHED[name]
    method = build_method(name, {}, SCENARIO.certificate)
    assert {key: getattr(method, key) for key in numbers} == numbers, source


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_are_those_of_their_source(name: str) -> None:
    source, numbers = VARIANTS[name]
    variant: Variant = load_variant(REPO / "config" / "variants.yaml", name)
    method = method_of(name, variant, SCENARIO)
    assert {key: getattr(method, key) for key in numbers} == numbers, source
