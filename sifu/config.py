"""The config files, read once and checked as a whole before any job starts.

`config.yaml` (or `paper.yaml`, `smoke.yaml`) says what to run; `scenarios.yaml` and `variants.yaml` in config/ hold
the named scenarios and method settings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from sifu.data import resolve_source
from sifu.errors import ConfigError, DataError, SifuError
from sifu.methods import METHODS, build_method
from sifu.methods.method import Method, OwnTraining
from sifu.scenario import Certificate, Scenario
from sifu.settings import above, at_least, build, from_to, one_of, setting, settings, to_plain


@settings
class Only:
    """A scenario that gets only some of the run's variants. (A list, as Snakemake merges mappings of two configs.)"""

    scenario: str = setting("one of the run's scenarios")
    variants: tuple[str, ...] = setting("some of the run's variants; `scratch` among them")


@settings
class SigmaSweep:
    """A variant under several sigma (paper, figure 4)."""

    scenarios: tuple[str, ...] = setting("which of the run's scenarios")
    variant: str = setting("name of variants.yaml", default="sifu")
    values: tuple[float, ...] = setting("standard deviations of the noise", above(0))


@settings
class RequestSets:
    """One request of each of several sets of clients (paper, figure 5)."""

    scenarios: tuple[str, ...] = setting("which of the run's scenarios")
    variants: tuple[str, ...] = setting("names of variants.yaml, of those of the run")
    count: int = setting(
        "how many sets; where clients hold one class, at most as many as classes", at_least(1), default=10
    )


@settings
class Run:
    """What to run, and where. Nothing here changes a seed's result, but for the rounding of another device."""

    scenarios: tuple[str, ...] = setting("names of scenarios.yaml")
    variants: tuple[str, ...] = setting("names of variants.yaml; `scratch`, the reference of every gap, among them")
    only: tuple[Only, ...] = setting(
        "scenarios that get only some of the variants; one that is not named here gets them all", default=()
    )
    sigma_sweep: SigmaSweep | None = setting("a variant under several sigma; null: no sweep", default=None)
    request_sets: RequestSets | None = setting("other clients that leave; null: only the scenario's", default=None)
    num_seeds: int = setting("how many seeds", from_to(1, 100_000), default=3)
    first_seed: int = setting("the seeds are first_seed, first_seed + 1, ...", from_to(0, 10**9), default=0)
    block_size: int = setting(
        "seeds trained together in one job: 10 on a GPU, fewer on small nodes", at_least(1), default=10
    )
    results: str = setting("folder of all results", default="results")
    data_root: str | None = setting(
        "folder of the datasets; null: the variable SIFU_DATA_ROOT, else `data`", default=None
    )
    download: bool = setting("let torchvision download a missing dataset", default=False)
    missing_data: str = setting(
        "a scenario whose dataset is missing: `refuse` the run, or `skip` that scenario with a notice",
        one_of(("refuse", "skip")),
        default="refuse",
    )
    device: str = setting(
        "where to train; `auto` is a GPU if there is one", one_of(("auto", "cpu", "cuda")), default="auto"
    )
    threads: int = setting("CPU threads of a training job", at_least(1), default=2)


@settings
class Search:
    """Values of a setting to try on seeds of their own, each with the same budget; the best one is used.

    Best is what reaches the target on most seeds, then in the fewest client steps; where none does, the most accurate.
    """

    key: str = setting("which of the method's settings")
    values: tuple[float, ...] = setting("what to try")
    rounds: int = setting("rounds that a training may take", at_least(1), default=500)
    num_seeds: int = setting("how many seeds", at_least(1), default=2)
    first_seed: int = setting("the first of them: none of the seeds that are reported", at_least(0), default=1_000_000)

    @property
    def block(self) -> str:
        return block_name(range(self.first_seed, self.first_seed + self.num_seeds))


@settings
class Variant:
    """A method with its settings."""

    label: str = setting("name in figures and tables")
    method: str = setting("which method (`python -m sifu methods`)", one_of(tuple(METHODS)))
    settings: dict[str, Any] | None = setting("the method's own hyper-parameters", default=None)
    certificate: dict[str, Any] | None = setting(
        "keys of the scenario's certificate that this variant changes", default=None
    )
    search: Search | None = setting("look for the best value of a setting; null: as it is given", default=None)


def method_of(name: str, variant: Variant, scenario: Scenario, searched: float | None = None) -> Method:
    """The variant's method in a scenario, with the scenario's certificate as the variant changes it.

    `searched` is a value of the setting that the variant searches for.
    """
    path = f"variants.{name}"
    changed = to_plain(scenario.certificate) | (variant.certificate or {})
    certificate = build(Certificate, changed, f"{path}.certificate")
    settings = dict(variant.settings or {})
    if variant.search is not None and searched is not None:
        settings[variant.search.key] = searched
    return build_method(variant.method, settings, certificate, f"{path}.settings")


def _refuse_search(name: str, variant: Variant, scenario: Scenario, seeds: range) -> None:
    """A search must be of a setting that exists, for a method that is trained alone, on seeds that are not reported."""
    search = variant.search
    if search is None:
        return
    path = f"variants.{name}.search"
    if not search.values:
        raise ConfigError(f"{path}.values", [], "at least one value")
    if not isinstance(method_of(name, variant, scenario), OwnTraining):
        raise ConfigError(path, variant.method, "only for a method with a training of its own, such as dp_fedavg")
    for value in search.values:
        method_of(name, variant, scenario, value)
    if set(seeds) & set(block_seeds(search.block)):
        raise ConfigError(f"{path}.first_seed", search.first_seed, f"seeds other than those reported ({seeds})")


@dataclass(frozen=True)
class Suite:
    """The whole plan: what to run, with every name looked up and every dataset found."""

    run: Run
    scenarios: dict[str, Scenario]  # those of run.scenarios whose data are there, sources resolved
    variants: dict[str, Variant]  # those of run.variants
    skipped: dict[str, str]  # scenario -> why it is left out
    all_variants: dict[str, Variant] = field(default_factory=dict)  # everything in variants.yaml

    def variants_of(self, scenario: str) -> list[str]:
        """The variants that run in a scenario."""
        some = {entry.scenario: entry.variants for entry in self.run.only}
        return [name for name in self.run.variants if name in some.get(scenario, self.run.variants)]

    @property
    def set_variants(self) -> list[str]:
        """The variants of the request sets, of those of the run."""
        sets = self.run.request_sets
        return [name for name in (sets.variants if sets else ()) if name in self.variants]

    def sweep_files(self, stage: str) -> list[tuple[str, str]]:
        """The (scenario, block) pairs of the sigma `sweep` or of the `request_sets`."""
        sweep = self.run.sigma_sweep if stage == "sweep" else self.run.request_sets
        return [
            (name, block)
            for name in (sweep.scenarios if sweep else ())
            if name in self.scenarios
            for block in self.blocks
        ]

    def report_plan(self) -> dict[str, Any]:
        """What the report is about, in plain data."""
        searches = [
            (scenario, name, search.block)
            for scenario in self.scenarios
            for name in self.variants_of(scenario)
            if (search := self.variants[name].search) is not None
        ]
        return {
            "results": self.run.results,
            "titles": {name: scenario.label for name, scenario in self.scenarios.items()},
            "blocks": self.blocks,
            "labels": {name: variant.label for name, variant in self.variants.items()},
            "methods": {name: variant.method for name, variant in self.variants.items()},
            "variants": {name: self.variants_of(name) for name in self.scenarios},
            "marks": {name: scenario.mark for name, scenario in self.scenarios.items()},
            "searches": searches,
            "settings": {name: to_plain(scenario) for name, scenario in self.scenarios.items()},
            "sweeps": self.sweep_files("sweep"),
            "request_sets": self.sweep_files("request_sets"),
        }

    @property
    def blocks(self) -> list[str]:
        """Names of the seed blocks: s000-009, s010-019, ..."""
        first, end = self.run.first_seed, self.run.first_seed + self.run.num_seeds
        size = self.run.block_size
        return [block_name(range(start, min(start + size, end))) for start in range(first, end, size)]


def block_name(seeds: range) -> str:
    return f"s{seeds[0]:03d}-{seeds[-1]:03d}"


def block_seeds(name: str) -> range:
    """The seeds of a block name; the inverse of `block_name`."""
    try:
        first, last = (int(part) for part in name.removeprefix("s").split("-"))
    except ValueError:
        raise ConfigError("block", name, "a name like s000-009") from None
    if not 0 <= first <= last < 2 * 10**9 or block_name(range(first, last + 1)) != name:
        raise ConfigError("block", name, "a name like s000-009")
    return range(first, last + 1)


class _StrictLoader(yaml.SafeLoader):
    """YAML that refuses a key written twice instead of keeping the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [str(key.value) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise ConfigError(f"line {node.start_mark.line + 1}", key, "each key once")
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file as a mapping, or one sentence that says what is wrong with it."""
    try:
        data = yaml.load(path.read_text(), _StrictLoader)
    except (OSError, UnicodeDecodeError) as error:
        raise SifuError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    except yaml.YAMLError as error:
        raise SifuError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    except ConfigError as error:
        raise error.inside(str(path)) from None
    if not isinstance(data, dict):
        raise SifuError(f"{path} must hold a mapping of keys to values, not {type(data).__name__}")
    return data


def default_data_root(run: Run | None, environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the datasets: the config's, else the variable SIFU_DATA_ROOT, else `data`."""
    return Path((run and run.data_root) or environ.get("SIFU_DATA_ROOT") or "data")


def load_variant(path: Path, name: str) -> Variant:
    """One variant of a variants.yaml."""
    variant: Variant = _look_up(_named(Variant, path, "variants"), name, "variants")
    return variant


def load_scenario(path: Path, name: str, root: Path, *, download: bool = False) -> Scenario:
    """One scenario of a scenarios.yaml, its source resolved."""
    return _with_source(_look_up(_named(Scenario, path, "scenarios"), name, "scenarios"), root, download=download)


def load_suite(raw: Mapping[str, Any], folder: Path, environ: Mapping[str, str] = os.environ) -> Suite:
    """The plan that `raw` (the contents of config.yaml) asks for; `folder` holds the two files of names."""
    run = build(Run, dict(raw), "")
    if not run.scenarios:
        raise ConfigError("scenarios", [], "at least one name of scenarios.yaml")
    scenarios = _named(Scenario, folder / "scenarios.yaml", "scenarios")
    variants = _named(Variant, folder / "variants.yaml", "variants")
    chosen = {name: _look_up(scenarios, name, "scenarios") for name in run.scenarios}
    found, skipped = _with_data(chosen, run, default_data_root(run, environ))
    picked = {name: _look_up(variants, name, "variants") for name in run.variants}
    _refuse_parts(run, scenarios, variants)
    if "scratch" not in picked:
        raise ConfigError("variants", list(run.variants), "scratch among them: it is the reference of every gap")
    labels = [variant.label for variant in picked.values()]
    if len(set(labels)) < len(labels):
        raise ConfigError("variants", list(run.variants), "variants with different labels")
    for scenario in chosen.values():
        for name, variant in variants.items():
            method_of(name, variant, scenario)  # refuses nonsense
            _refuse_search(name, variant, scenario, range(run.first_seed, run.first_seed + run.num_seeds))
    return Suite(run, found, picked, skipped, variants)


def _refuse_parts(run: Run, scenarios: Mapping[str, Any], variants: Mapping[str, Any]) -> None:
    """Names in `only` and in the sweeps must exist; one that is not part of this run is passed over, so that
    `--config scenarios=[...]` needs no other change.
    """
    for place, entry in enumerate(run.only):
        _look_up(scenarios, entry.scenario, f"only[{place}].scenario")
        for name in entry.variants:
            _look_up(variants, name, f"only[{place}].variants")
        if "scratch" not in entry.variants:
            raise ConfigError(f"only[{place}].variants", list(entry.variants), "scratch among them")
    for key, sweep in (("sigma_sweep", run.sigma_sweep), ("request_sets", run.request_sets)):
        for name in sweep.scenarios if sweep else ():
            _look_up(scenarios, name, f"{key}.scenarios")
    if run.sigma_sweep:
        _look_up(variants, run.sigma_sweep.variant, "sigma_sweep.variant")
    for name in run.request_sets.variants if run.request_sets else ():
        _look_up(variants, name, "request_sets.variants")


def _named(cls: type, path: Path, key: str) -> dict[str, Any]:
    raw = read_yaml(path)
    for name in raw:
        if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise ConfigError(key, name, "names of lower case letters, digits and _ that start with a letter")
    return {name: build(cls, data, f"{key}.{name}") for name, data in raw.items()}


def _look_up(table: Mapping[str, Any], name: str, key: str) -> Any:
    if name not in table:
        raise ConfigError(key, name, f"one of {', '.join(table)}")
    return table[name]


def _with_data(scenarios: dict[str, Scenario], run: Run, root: Path) -> tuple[dict[str, Scenario], dict[str, str]]:
    found: dict[str, Scenario] = {}
    skipped: dict[str, str] = {}
    for name, scenario in scenarios.items():
        try:
            found[name] = _with_source(scenario, root, download=run.download)
        except DataError as error:
            if run.missing_data == "refuse":
                raise DataError(f"scenarios.{name}: {error}") from None
            skipped[name] = str(error)
    return found, skipped


def _with_source(scenario: Scenario, root: Path, *, download: bool) -> Scenario:
    if scenario.federation.privacy is not None:
        raise ConfigError("federation.privacy", "set", "null: noise belongs to a method (dp_fedavg), not to a scenario")
    source = resolve_source(scenario.dataset.name, scenario.dataset.source, root, download=download)
    return replace(scenario, dataset=replace(scenario.dataset, source=source))
