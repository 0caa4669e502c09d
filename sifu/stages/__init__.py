"""The stages: files in, files out. A rule, a stage, a results folder and a table share one name."""

from __future__ import annotations

from typing import Any

from sifu.data import DATASETS
from sifu.models import MODELS
from sifu.registry import module_of
from sifu.scenario import Scenario
from sifu.settings import to_plain

_KEYS = {
    "partition": ("dataset", "partition"),
    "train": ("dataset", "partition", "watermark", "model", "federation", "stop", "certificate", "snapshot_every"),
}


def relevant_settings(stage: str, scenario: Scenario) -> dict[str, Any]:
    """The settings that a stage's results depend on; changing any other does not make them stale."""
    plain = to_plain(scenario)
    if stage == "train":
        plain["certificate"] = {"contraction": scenario.certificate.contraction}  # all that Psi needs
    return {key: plain[key] for key in _KEYS[stage]}


def stage_modules(stage: str, scenario: Scenario) -> tuple[str, ...]:
    """The modules whose code decides what a stage writes for a scenario: the stage, and what registries add to it."""
    loader = module_of(DATASETS[scenario.dataset.name].sources[scenario.dataset.source].loader)
    model = (module_of(MODELS[scenario.model].builder),) if stage != "partition" else ()
    return (f"sifu.stages.{stage}", loader, *model)
