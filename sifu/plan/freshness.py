"""What a stage's results depend on: settings and code. A change of anything else makes nothing stale."""

from __future__ import annotations

from typing import Any

from sifu.catalog.datasets import DATASETS
from sifu.catalog.lookup import module_of
from sifu.catalog.methods import METHODS
from sifu.catalog.metrics import METRICS
from sifu.catalog.models import MODELS
from sifu.config.fields import to_plain
from sifu.config.scenario import Scenario
from sifu.plan.stage_spec import STAGES
from sifu.unlearning.method import Method


def relevant_settings(stage: str, scenario: Scenario, method: Method | None = None) -> dict[str, Any]:
    """The settings that a stage's results depend on; changing any other does not make them stale."""
    plain = to_plain(scenario)
    plain["certificate"] = {"contraction": scenario.certificate.contraction}  # all that Psi itself needs
    settings = {key: plain[key] for key in STAGES[stage].settings}
    return settings if method is None else settings | {"method": {"name": method.name} | to_plain(method)}


def method_modules() -> tuple[str, ...]:
    """The modules of all methods: what Table 1 is made of."""
    return _modules(METHODS)


def _modules(registry: dict[str, str]) -> tuple[str, ...]:
    return tuple(sorted({module_of(target) for target in registry.values()}))


def stage_modules(stage: str, scenario: Scenario, method: str | None = None) -> tuple[str, ...]:
    """The modules whose code decides what a stage writes for a scenario: the stage, and what registries add to it."""
    loader = module_of(DATASETS[scenario.dataset.name].sources[scenario.dataset.source].loader)
    spec = MODELS[scenario.model]
    model = tuple(module_of(path) for path in (spec.builder, spec.kernels) if path and stage != "partition")
    methods = () if method is None else (module_of(METHODS[method]), "sifu.plan.variants", "sifu.stages.choice")
    metrics = _modules(METRICS) if stage == "verify" else ()
    return (f"sifu.stages.{STAGES[stage].folder or stage}", loader, *model, *methods, *metrics)
