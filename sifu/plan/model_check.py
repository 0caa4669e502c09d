"""Every model that a plan uses, built once and checked before any job starts.

Building one imports torch, which takes longer than all else that is planned. So models that were found good are
remembered, by their code, until it changes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from sifu.catalog.datasets import DATASETS
from sifu.catalog.models import MODELS
from sifu.config.changed_scenario import tried_scenario
from sifu.config.scenario import Scenario
from sifu.config.search import trials
from sifu.errors import SifuError
from sifu.plan.code_hash import code_hash
from sifu.plan.freshness import model_modules
from sifu.plan.suite import Suite

MEMO = Path(".snakemake", "models.json")  # in the folder that Snakemake works in


class Planned(NamedTuple):
    """A model as a scenario uses it."""

    model: str
    shape: tuple[int, ...]  # of an image
    num_classes: int

    @property
    def state(self) -> str:
        """A text that changes when the model, or what checks it, does."""
        code = code_hash(*model_modules(self.model), "sifu.models.check")
        builder = MODELS[self.model].builder  # a name may stand for another one tomorrow
        return f"{self.model} {self.shape} {self.num_classes} torch {version('torch')} {builder} {code}"


def check_models(suite: Suite) -> None:
    """Refuse a plan with a model that cannot be built or trained."""
    good = _remembered()
    wanted = {planned.state: (name, planned) for name, planned in _planned(suite)}
    missing = {state: found for state, found in wanted.items() if state not in good}
    for name, planned in missing.values():
        _check(name, planned)
    if missing:
        _remember({*good, *missing})


def _planned(suite: Suite) -> Iterator[tuple[str, Planned]]:
    """Every scenario with each of its models: its own, and those that are tried in it."""
    searches = suite.scenario_searches.items()
    for name, scenario in suite.scenarios.items():
        grids = [search.grid for (searched, _), search in searches if searched == name and "model" in search.grid]
        tried = [tried_scenario(scenario, values, "grid") for grid in grids for values in trials(grid).values()]
        for one in (scenario, *tried):
            yield name, _of(one)


def _of(scenario: Scenario) -> Planned:
    spec = DATASETS[scenario.dataset.name]
    return Planned(scenario.model, spec.shape, spec.num_classes)


def _check(scenario: str, planned: Planned) -> None:
    from sifu.catalog.lookup import resolve
    from sifu.models.check import build_module, check_module

    try:
        builder = resolve(MODELS[planned.model].builder)
        module = build_module(builder, planned.shape, planned.num_classes, planned.model)
        check_module(module, planned.shape, planned.num_classes, planned.model)
    except SifuError as error:
        raise SifuError(f"scenarios.{scenario}: {error}") from None


def _remembered() -> set[str]:
    """What earlier plans found good; nothing where that cannot be read."""
    try:
        return set(json.loads(MEMO.read_text()))
    except (OSError, ValueError, TypeError):
        return set()


def _remember(good: set[str]) -> None:
    """For the next plan; a folder that cannot be written is no reason to stop here."""
    temporary = MEMO.with_suffix(f".{os.getpid()}")
    try:
        MEMO.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(sorted(good), indent=1))
        temporary.replace(MEMO)
    except OSError:
        return
