"""What a stage's results depend on: settings and code. A change of anything else makes nothing stale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sifu.catalog.datasets import DATASETS
from sifu.catalog.lookup import module_of
from sifu.catalog.methods import METHODS
from sifu.catalog.metrics import METRICS
from sifu.catalog.models import MODELS
from sifu.config.fields import to_plain
from sifu.config.scenario import Scenario
from sifu.plan.method_check import method_class
from sifu.plan.stage_spec import STAGES
from sifu.unlearning.method import Method


def relevant_settings(stage: str, scenario: Scenario, method: Method | None = None) -> dict[str, Any]:
    """The settings that a stage's results depend on; changing any other does not make them stale."""
    plain = to_plain(scenario)
    plain["certificate"] = {"contraction": scenario.certificate.contraction}  # all that Psi itself needs
    settings = {key: plain[key] for key in STAGES[stage].settings}
    if stage == "partition" and scenario.partition.twins:  # whose twins are drawn
        settings["requests"] = plain["requests"]
    brought = {name: METRICS[name] for name in METRICS if name not in METRICS.own} if stage == "verify" else {}
    settings |= {"metrics": brought} if brought else {}
    settings |= _entry("model", MODELS.target(scenario.model), scenario.model) if "model" in settings else {}
    settings |= _entry("dataset", DATASETS.target(scenario.dataset.name), scenario.dataset.name)
    return settings if method is None else settings | {"method": {"name": method.name} | to_plain(method)}


def method_modules(names: Iterable[str]) -> tuple[str, ...]:
    """The modules of this package's methods, and of others by name: what Table 1 is made of."""
    return tuple(sorted({*_modules(METHODS.own), *map(method_module, names)}))


def method_module(name: str) -> str:
    """The module of a method, as the config names it."""
    return method_class(name).__module__


def _modules(registry: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted({module_of(target) for target in registry.values()}))


def stage_modules(stage: str, scenario: Scenario, method: str | None = None) -> tuple[str, ...]:
    """The modules whose code decides what a stage writes for a scenario: the stage, and what registries add to it.

    `method`: the module of the method that it runs.
    """
    dataset = scenario.dataset
    loader = module_of(DATASETS[dataset.name].sources[dataset.source].loader)
    model = model_modules(scenario.model) if stage != "partition" else ()
    methods = () if method is None else (method, "sifu.plan.variants", "sifu.stages.choice")
    metrics = _modules(METRICS) if stage == "verify" else ()
    stage_module = f"sifu.stages.{STAGES[stage].folder or stage}"
    return (stage_module, loader, *_outside(DATASETS.target(dataset.name)), *model, *methods, *metrics)


def model_modules(name: str) -> tuple[str, ...]:
    """The modules that a model is made of; one from outside may be described in another one than it is built in."""
    spec = MODELS[name]
    built = [module_of(path) for path in (spec.builder, spec.kernels) if path]
    return (*built, *_outside(MODELS.target(name)))


def _entry(kind: str, target: str | None, name: str) -> dict[str, str]:
    """What the name of another package's entry stands for: it may name another object of the same module tomorrow."""
    return {} if target in (None, name) else {f"{kind}_entry": str(target)}


def _outside(target: str | None) -> tuple[str, ...]:
    return () if target is None else (module_of(target),)
