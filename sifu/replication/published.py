"""The published replication: where it lies, what its manifest says, and whether it is that of today's config."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from sifu import RULES_VERSION
from sifu.config.certificate import Certificate
from sifu.config.fields import build, to_plain
from sifu.config.run import Run
from sifu.config.scenario import Scenario
from sifu.config.variant import Variant
from sifu.errors import ConfigError, StoreError
from sifu.plan.load import read_named, read_yaml
from sifu.plan.variants import build_method
from sifu.store.json_file import read_json
from sifu.store.paths import figures_folder, manifest_file, report_folder, tables_folder

REPLICATION = Path("results", "paper")
CONFIG = Path("config", "paper.yaml")
COMMAND = "rm -r results/paper; SIFU_DATA_ROOT=... make paper"  # make alone would keep the stored tables
NOT_RUN = f"Not run yet: `{REPLICATION}` has no manifest (`make paper` runs it and writes one)."
_SIDE_EXPERIMENTS = (
    *("sigma_sweep", "setting_sweeps", "request_sets", "alpha_sweep", "audits", "oracles", "atlas"),
    "scenario_searches",
)
_SIZES = ("block_size", "block_sizes")

_MANIFEST = {"rules_version": str, "seeds": list, "scenarios": dict, "variants": dict, "blocks": list}


@dataclass(frozen=True)
class Published:
    """The folders of the replication's manifest, tables and figures."""

    folder: Path
    tables: Path
    figures: Path


def is_published(root: Path) -> bool:
    """Whether a checkout has a finished replication: its manifest says so."""
    return manifest_file(root / REPLICATION).exists()


def quoted(root: Path) -> Published | None:
    """The replication that pages quote; None where its manifest or its report is missing."""
    report = report_folder(root / REPLICATION)
    if not is_published(root) or not (tables_folder(report) / "headline.csv").exists():
        return None
    return Published(root / REPLICATION, tables_folder(report), figures_folder(report))


def read_csv(path: Path) -> pd.DataFrame:
    """A table of the report, as text."""
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot read {path}: {' '.join(str(error).split())[:200]}") from None


def described(config: Path) -> dict[str, Any]:
    """The settings that decide a run's numbers, all defaults filled in. Needs no datasets."""
    run = build(Run, read_yaml(config), "")
    scenarios = read_named(Scenario, config.parent / "scenarios.yaml", "scenarios")
    variants = read_named(Variant, config.parent / "variants.yaml", "variants")
    return {
        "seeds": list(range(run.first_seed, run.first_seed + run.num_seeds)),
        "only": [to_plain(entry) for entry in run.only],
        "scenarios": {name: to_plain(scenarios[name]) for name in run.scenarios},
        "variants": {name: _with_defaults(variants[name]) for name in run.variants},
        "side_experiments": {name: to_plain(getattr(run, name)) for name in _SIDE_EXPERIMENTS},
    }


def _with_defaults(variant: Variant) -> Any:
    """A variant with every setting of its method, defaults filled in; a certificate of None is the scenario's."""
    own = {key: value for key, value in (variant.settings or {}).items() if (key, value) != ("certificate", None)}
    settings = to_plain(build_method(variant.method, own, Certificate(sigma=1.0), "settings"))
    if "certificate" in settings and "certificate" not in own:
        settings["certificate"] = None
    return to_plain(replace(variant, settings=settings))


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a results folder."""
    path = manifest_file(folder)
    manifest = read_json(path)
    for key, kind in _MANIFEST.items():
        if not isinstance(manifest.get(key), kind):
            raise StoreError(f"{path} is not a manifest: it has no {key}")
    return manifest


def changes(manifest: dict[str, Any], config: Path) -> list[str]:
    """What differs between a published run and today's config, a sentence each; nothing: the run is up to date."""
    stored, today = dict(manifest), described(config)
    sentences = []
    if stored["rules_version"] != RULES_VERSION:
        sentences.append(f"rules {stored['rules_version']}, now {RULES_VERSION}")
    for kind, cls in (("scenarios", Scenario), ("variants", Variant)):
        stored[kind] = {name: _refilled(cls, plain) for name, plain in stored[kind].items()}
    for kind, present in today.items():
        if kind in stored:  # a manifest may be older than this kind of setting
            sentences += differences(kind, _without_sizes(stored[kind]), _without_sizes(present))
    return sentences


def _without_sizes(plain: Any) -> Any:
    """Settings without the sizes of blocks: these change where results lie, and no number."""
    if isinstance(plain, list):
        return [_without_sizes(entry) for entry in plain]
    if isinstance(plain, dict):
        return {key: _without_sizes(value) for key, value in plain.items() if key not in _SIZES}
    return plain


def _refilled(cls: type, plain: Any) -> Any:
    """Settings as they are read today: a key that is new since then is no change where it has its default."""
    try:
        settings: Any = build(cls, plain, "")
        return _with_defaults(settings) if isinstance(settings, Variant) else to_plain(settings)
    except ConfigError:
        return plain


def differences(key: str, stored: Any, today: Any) -> list[str]:
    """What differs between two plain settings, a sentence each."""
    if stored == today:
        return []
    before, after = _by_name(stored), _by_name(today)
    if before is not None and after is not None:
        names = [*after, *(name for name in before if name not in after)]
        return [text for name in names for text in differences(f"{key}.{name}", before.get(name), after.get(name))]
    if isinstance(stored, list) and isinstance(today, list) and (words := _in_and_out(stored, today)):
        return [f"{key}: {words}"]
    return [f"{key}: {stored}, now {today}"]


def _by_name(plain: Any) -> dict[str, Any] | None:
    """Settings by name; a list of entries by what each is about. None where they have no names."""
    if isinstance(plain, dict):
        return plain
    if not isinstance(plain, list) or not all(isinstance(entry, dict) for entry in plain):
        return None
    named = {str(entry.get("name", entry.get("scenario", ""))): entry for entry in plain}
    return named if len(named) == len(plain) and "" not in named else None


def _in_and_out(stored: list[Any], today: list[Any]) -> str:
    """What a list has lost and what is new in it, in words; nothing where only the order differs."""
    lost, new = [x for x in stored if x not in today], [x for x in today if x not in stored]
    parts = [f"{word} {', '.join(map(str, some))}" for word, some in (("no longer", lost), ("now also", new)) if some]
    return ", ".join(parts)
