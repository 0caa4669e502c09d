"""The config files, read once and checked as a whole before any job starts.

`config.yaml` (or `paper.yaml`, `smoke.yaml`, `whole.yaml`) says what to run; `scenarios.yaml` and `variants.yaml` in
config/ hold the named scenarios and method settings. A config of the user, in another folder, may have its own two
files next to it: their names come first, those of the suite are there as well.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from sifu.catalog.datasets import resolve_source
from sifu.catalog.methods import METHODS
from sifu.catalog.unlisted import missing_line
from sifu.config.changed_scenario import changed_scenario, tried_scenario
from sifu.config.fields import build, file_name
from sifu.config.run import Run
from sifu.config.scenario import Scenario, refuse_moving
from sifu.config.search import ScenarioSearch, Search, trials
from sifu.config.shipped import SUITE
from sifu.config.side_experiments import AlphaSweep, Oracles, SettingSweep
from sifu.config.variant import Variant
from sifu.config.yaml_file import read_yaml as read_yaml  # the commands import it from here
from sifu.errors import ConfigError, DataError, did_you_mean
from sifu.plan.method_check import refuse_private_updates
from sifu.plan.picked_check import refuse_labels, refuse_late, refuse_no_requests
from sifu.plan.suite import Suite
from sifu.plan.variants import method_of, method_with
from sifu.store.paths import stage_folder
from sifu.unlearning.method import OwnTraining


def default_data_root(run: Run | None, environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the datasets: the config's, else the variable SIFU_DATA_ROOT, else `data`."""
    return Path((run and run.data_root) or environ.get("SIFU_DATA_ROOT") or "data")


def load_variant(path: Path, name: str) -> Variant:
    """One variant of a variants.yaml."""
    variant: Variant = _look_up(read_all(Variant, path, "variants"), name, "variants")
    return variant


def load_scenario(path: Path, name: str, root: Path, *, download: bool = False) -> Scenario:
    """One scenario of a scenarios.yaml, its source resolved."""
    return _with_source(_look_up(read_all(Scenario, path, "scenarios"), name, "scenarios"), root, download=download)


def load_suite(
    raw: Mapping[str, Any], folder: Path, environ: Mapping[str, str] = os.environ, *, reports: bool = False
) -> Suite:
    """The plan that `raw` (the contents of config.yaml) asks for; `folder` holds the two files of names.

    `reports`: results are only read, so that a scenario which has some needs no data.
    """
    run = build(Run, dict(raw) if isinstance(raw, Mapping) else raw, "")
    if not run.scenarios:
        raise ConfigError("scenarios", [], "at least one name of scenarios.yaml")
    scenarios = read_all(Scenario, folder / "scenarios.yaml", "scenarios")
    variants = read_all(Variant, folder / "variants.yaml", "variants")
    chosen = {name: _look_up(scenarios, name, "scenarios") for name in run.scenarios}
    found, skipped = _with_data(chosen, run, default_data_root(run, environ), reports=reports)
    picked = {name: _look_up(variants, name, "variants") for name in run.variants}
    _refuse_parts(run, scenarios, variants)
    if "scratch" not in picked:
        raise ConfigError("variants", list(run.variants), "scratch among them: it is the reference of every gap")
    _refuse_shown(run)
    _refuse_scenario_searches(run, scenarios, variants)
    _refuse_searched_as(chosen, scenarios, picked)
    refuse_labels(picked)
    for name, scenario in chosen.items():
        refuse_no_requests(name, scenario)
        for name, variant in variants.items():
            method_of(name, variant, scenario)  # refuses nonsense
            _refuse_search(name, variant, scenario, run)
    suite = Suite(run, found, picked, skipped, variants)
    for name, scenario in found.items():
        for variant in suite.variants_of(name):
            refuse_private_updates(suite.method(name, variant), scenario)
    suite.refuse_too_many()
    return suite


def _refuse_searched_as(
    chosen: Mapping[str, Scenario], scenarios: Mapping[str, Any], picked: Mapping[str, Variant]
) -> None:
    """A scenario that takes another one's searches needs it in the same run, and not to take a third one's."""
    if not any(variant.search for variant in picked.values()):
        return
    for name, scenario in chosen.items():
        other = scenario.searched_as
        if other is None:
            continue
        third = _look_up(scenarios, other, f"scenarios.{name}.searched_as").searched_as
        if third is not None:
            raise ConfigError(f"scenarios.{name}.searched_as", other, f"{third}, whose searches {other} takes")
        if other not in chosen:
            words = f"{other} among them: {name} takes its searches, so add {other} to scenarios"
            raise ConfigError("scenarios", list(chosen), words)


def _refuse_shown(run: Run) -> None:
    for name in run.shown or ():
        if name not in run.variants:
            words = f"null (all), or some of the run's variants: {', '.join(run.variants)}"
            raise ConfigError("shown", name, words, did_you_mean(name, run.variants))
    if run.shown == ():
        raise ConfigError("shown", [], "at least one of the run's variants; null: all")


def _refuse_parts(run: Run, scenarios: Mapping[str, Any], variants: Mapping[str, Any]) -> None:
    """Names in `only` and in the sweeps must exist; one that is not part of this run is ignored, so that
    `--config scenarios=[...]` needs no other change.
    """
    for place, entry in enumerate(run.only):
        _look_up(scenarios, entry.scenario, f"only[{place}].scenario")
        for name in entry.variants:
            _look_up(variants, name, f"only[{place}].variants")
        if "scratch" not in entry.variants:
            raise ConfigError(f"only[{place}].variants", list(entry.variants), "scratch among them")
    for key, named in _naming_scenarios(run):
        for name in named.scenarios:
            _look_up(scenarios, name, f"{key}.scenarios")
    if run.alpha_sweep:
        _refuse_changes(run.alpha_sweep, scenarios)
    for name in (sweep.variant for sweep in run.sigma_sweeps):
        _look_up(variants, name, "sigma_sweep.variant")
    for place, sweep in enumerate(run.setting_sweeps):
        _refuse_setting_sweep(sweep, f"setting_sweeps[{place}]", scenarios, variants)
    for name in run.request_sets.variants if run.request_sets else ():
        _look_up(variants, name, "request_sets.variants")
    for name in (name for audits in run.audits_of.values() for name in audits.variants):
        _look_up(variants, name, "audits.variants")
    for name, audits in run.audits_of.items():
        refuse_late("audits", audits.requests, name, scenarios[name])
    for name in run.oracles.variants if run.oracles else ():
        _look_up(variants, name, "oracles.variants")
    if run.oracles:
        _refuse_oracles(run.oracles, scenarios)


def _refuse_oracles(oracles: Oracles, scenarios: Mapping[str, Any]) -> None:
    for name in oracles.scenarios:
        refuse_moving(name, scenarios[name])
        refuse_late("oracles", oracles.requests, name, scenarios[name])


def _naming_scenarios(run: Run) -> list[tuple[str, Any]]:
    """All parts of a config that have `scenarios`, with their keys."""
    oracles = [run.oracles] if run.oracles else []
    parts = {
        "sigma_sweep": run.sigma_sweeps,
        "setting_sweeps": run.setting_sweeps,
        "request_sets": [run.request_sets] if run.request_sets else [],
        "alpha_sweep": [run.alpha_sweep] if run.alpha_sweep else [],
        "audits": run.audits_of.values(),
        "oracles": oracles,
        "atlas": run.atlases,
        "block_sizes": run.block_sizes,
        "oracles.block_sizes": [sizes for entry in oracles for sizes in entry.block_sizes],
    }
    return [(key, part) for key, entries in parts.items() for part in entries]


def _refuse_setting_sweep(
    sweep: SettingSweep, path: str, scenarios: Mapping[str, Any], variants: Mapping[str, Any]
) -> None:
    """Its variant must have the setting, and start from the training that all share."""
    variant = _look_up(variants, sweep.variant, f"{path}.variant")
    if variant.search is not None:
        raise ConfigError(f"{path}.variant", sweep.variant, "a variant without a search")
    for value, name in product(sweep.values, sweep.scenarios):
        method = method_with(sweep.variant, variant, scenarios[name], sweep.key, value)
        if isinstance(method, OwnTraining):
            raise ConfigError(f"{path}.variant", sweep.variant, "a variant that starts from the scenario's training")


def _refuse_changes(sweep: AlphaSweep, scenarios: Mapping[str, Any]) -> None:
    """Every change must be possible in every scenario of the sweep."""
    for place, entry in enumerate(sweep.federations):
        for name in sweep.scenarios:
            changed_scenario(scenarios[name], entry.change, sweep.rounds, f"alpha_sweep.federations[{place}].change")


def _refuse_search(name: str, variant: Variant, scenario: Scenario, run: Run) -> None:
    """A search must be of settings that exist, with values that they can have, on seeds that are not reported."""
    if variant.search is not None:
        for values in trials(variant.search.grid).values():
            method_of(name, variant, scenario, values)
        _refuse_reported(variant.search, run, f"variants.{name}.search")


def _refuse_reported(search: Search | ScenarioSearch, run: Run, path: str) -> None:
    """What is searched with must not be reported."""
    end = run.first_seed + run.num_seeds
    if search.first_seed < end and run.first_seed < search.seeds.stop:
        words = f"seeds other than those reported ({run.first_seed} to {end - 1})"
        raise ConfigError(f"{path}.first_seed", search.first_seed, words)


def _refuse_scenario_searches(run: Run, scenarios: Mapping[str, Any], variants: Mapping[str, Any]) -> None:
    """Each search once, of values that the scenario can have and its own among them, answered from its training."""
    seen = set()
    for place, search in enumerate(run.scenario_searches):
        path = f"scenario_searches[{place}]"
        scenario = _look_up(scenarios, search.scenario, f"{path}.scenario")
        variant = _look_up(variants, search.variant, f"{path}.variant")
        if variant.search is not None or isinstance(method_of(search.variant, variant, scenario), OwnTraining):
            raise ConfigError(f"{path}.variant", search.variant, "one without a search and a training of its own")
        tried = [tried_scenario(scenario, values, f"{path}.grid") for values in trials(search.grid).values()]
        if scenario not in tried:
            raise ConfigError(f"{path}.grid", search.grid, f"the values of {search.scenario} itself among them")
        if (search.scenario, search.name) in seen:
            raise ConfigError(path, search.name, f"one search for it in {search.scenario}")
        seen.add((search.scenario, search.name))
        _refuse_reported(search, run, path)


def read_named(cls: type, path: Path, key: str) -> dict[str, Any]:
    """All scenarios, or all variants, of a file, by name; datasets are not looked for."""
    raw = read_yaml(path)
    for name in raw:
        if not file_name().test(name):
            raise ConfigError(key, name, f"names of {file_name().text}")
    return {name: build(cls, data, f"{key}.{name}") for name, data in raw.items()}


def read_all(cls: type, path: Path, key: str) -> dict[str, Any]:
    """The same, and those of the suite that the file does not have; without such a file, those of the suite alone."""
    shipped = SUITE / "config" / path.name
    if not path.exists() and path.parent.is_dir():
        path = shipped
    own = read_named(cls, path, key)
    if not shipped.exists() or shipped.samefile(path):
        return own
    return own | {name: entry for name, entry in read_named(cls, shipped, key).items() if name not in own}


def _look_up(table: Mapping[str, Any], name: str, key: str) -> Any:
    if name not in table:
        close = _unnamed_method(name) if "variant" in key else ""
        raise ConfigError(key, name, f"one of {', '.join(table)}", close or did_you_mean(name, table))
    return table[name]


def _unnamed_method(name: str) -> str:
    """For a method that is named where a variant should be, and has none of its name."""
    if name not in METHODS.own:
        return missing_line("methods", name)
    return f" ({name} is a method: give it a line in variants.yaml, `{name}: {{label: {name}, method: {name}}}`)"


def _with_data(
    scenarios: dict[str, Scenario], run: Run, root: Path, *, reports: bool
) -> tuple[dict[str, Scenario], dict[str, str]]:
    """Scenarios with their sources, and why others are left out."""
    found: dict[str, Scenario] = {}
    skipped: dict[str, str] = {}
    for name, scenario in scenarios.items():
        try:
            found[name] = _with_source(scenario, root, download=run.download)
        except DataError as error:
            if reports and stage_folder(run.results, "train", name).exists():
                found[name] = scenario
                continue
            if run.missing_data == "refuse":
                raise DataError(f"scenarios.{name}: {error}") from None
            skipped[name] = str(error)
    return found, skipped


def _with_source(scenario: Scenario, root: Path, *, download: bool) -> Scenario:
    if scenario.federation.shards is not None:
        raise ConfigError("federation.shards", "set", "null: shards belong to a method (sharded), not to a scenario")
    if scenario.federation.privacy is not None:
        raise ConfigError("federation.privacy", "set", "null: noise belongs to a method (dp_fedavg), not to a scenario")
    source = resolve_source(scenario.dataset.name, scenario.dataset.source, root, download=download)
    return replace(scenario, dataset=replace(scenario.dataset, source=source))
