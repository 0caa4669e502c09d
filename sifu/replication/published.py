"""A run's tables and figures as a folder of the docs, with a manifest of what they are of."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from sifu import RULES_VERSION
from sifu.catalog.lookup import resolve
from sifu.catalog.methods import METHODS
from sifu.config.fields import build, to_plain
from sifu.config.run import Run, Variant
from sifu.config.scenario import Scenario
from sifu.errors import ConfigError, StoreError
from sifu.plan.load import load_suite, read_named, read_yaml
from sifu.report.results import Results
from sifu.report.tables import markdown
from sifu.stages.report import CAPTIONS
from sifu.store.parquet import write_text

MNIST, REPLICATION = Path("docs", "mnist"), Path("results", "paper")
_AGAIN = "rm -r results/paper; SIFU_DATA_ROOT=... make paper"  # which goes on with results, but not with tables alone
_BESIDE = ("sigma_sweep", "request_sets", "alpha_sweep", "scenario_searches")  # experiments beside the main one


@dataclass(frozen=True)
class Published:
    """The run that the README quotes: where its manifest, tables and figures lie, and what makes it again."""

    folder: Path
    tables: Path
    figures: Path
    command: str


def quoted(root: Path) -> Published:
    """The replication of the paper once it has a manifest and its tables; until then MNIST alone."""
    report = root / REPLICATION / "report"
    if (root / REPLICATION / "manifest.json").exists() and (report / "tables" / "headline.csv").exists():
        return Published(root / REPLICATION, report / "tables", report / "figures", _AGAIN)
    folder = root / MNIST
    return Published(folder, folder, folder, "SIFU_DATA_ROOT=... make mnist")


def publish(config: Path, folder: Path) -> None:
    """Put what people read of a config's results into `folder`, in place of what was there. Pages come from `docs`."""
    source = Results(load_suite(read_yaml(config), config.parent, reports=True).report_plan())
    found = [source.cells, source.metrics, source.alpha]
    if source.missing or not all(len(table) for table in found):
        raise StoreError(f"{source.root} is not complete: run make CONFIG={config} first")
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("csv", "md", "png", "json"):
        for old in folder.glob(f"*.{kind}"):
            old.unlink()
    for path in [*_tables(source.root / "report" / "tables"), *_figures(source)]:
        shutil.copy(path, folder)
    write_text(folder / "manifest.json", json.dumps(_manifest(config, source), indent=2) + "\n")


def _tables(folder: Path) -> list[Path]:
    """Tables for people that have rows."""
    return [path for name in CAPTIONS if len(read_csv(path := folder / f"{name}.csv"))]


def _figures(source: Results) -> list[Path]:
    """The figures that have something to show in this plan."""
    plan = source.plan
    shown: dict[str, object] = {"sigma": plan.jobs["sweep"], "request_sets": plan.jobs["request_sets"]}
    shown["watermark"] = "watermark" in plan.marks.values()
    paths = sorted((source.root / "report" / "figures").glob("*.png"))
    return [path for path in paths if shown.get(path.stem, True)]


def read_csv(path: Path) -> pd.DataFrame:
    """A table for people, as text."""
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from None


def table_pages(folder: Path) -> dict[Path, str]:
    """A Markdown page for each table of a published folder."""
    names = [path.stem for path in sorted(folder.glob("*.csv"))]
    return {folder / f"{name}.md": markdown(read_csv(folder / f"{name}.csv"), CAPTIONS[name]) for name in names}


def _manifest(config: Path, source: Results) -> dict[str, Any]:
    """What the folder is of, and where it comes from."""
    stamps = pd.DataFrame(source.stamps, columns=["scenario", "block", "commit", "code", "rules", "torch", "device"])
    made = {key: ", ".join(sorted(set(stamps[key]))) for key in ("commit", "torch", "device")}
    return {"config": config.name, "rules_version": RULES_VERSION} | made | described(config)


def described(config: Path) -> dict[str, Any]:
    """The settings that decide a run's numbers, all defaults filled in. Needs no datasets."""
    run = build(Run, read_yaml(config), "")
    scenarios = read_named(Scenario, config.parent / "scenarios.yaml", "scenarios")
    variants = read_named(Variant, config.parent / "variants.yaml", "variants")
    return {
        "seeds": list(range(run.first_seed, run.first_seed + run.num_seeds)),
        "only": [to_plain(entry) for entry in run.only],
        "scenarios": {name: to_plain(scenarios[name]) for name in run.scenarios},
        "variants": {name: _whole(variants[name]) for name in run.variants},
        "beside": {name: to_plain(getattr(run, name)) for name in _BESIDE},
    }


def _whole(variant: Variant) -> Any:
    """A variant with every setting of its method, defaults too."""
    method = build(resolve(METHODS[variant.method]), variant.settings or {}, "settings")
    return to_plain(replace(variant, settings=to_plain(method)))


def read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(path.read_text())
    except (OSError, json.JSONDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from None
    return manifest


def changes(manifest: dict[str, Any], config: Path) -> list[str]:
    """What differs between a published run and the config of today; nothing: the run is up to date."""
    then, now = dict(manifest), described(config)
    found = []
    if then["rules_version"] != RULES_VERSION:
        found.append(f"rules {then['rules_version']}, now {RULES_VERSION}")
    for kind, cls in (("scenarios", Scenario), ("variants", Variant)):
        then[kind] = {name: _refilled(cls, plain) for name, plain in then[kind].items()}
    for kind, present in now.items():
        if kind in then:  # a manifest may be older than this kind of setting
            found += _differences(kind, then[kind], present)
    return found


def _refilled(cls: type, plain: Any) -> Any:
    """Settings as they are read today: a key that is new since then is no change where it has its default."""
    try:
        found: Any = build(cls, plain, "")
        return _whole(found) if isinstance(found, Variant) else to_plain(found)
    except ConfigError:
        return plain


def _differences(key: str, then: Any, now: Any) -> list[str]:
    if isinstance(then, dict) and isinstance(now, dict):
        names = [*now, *(name for name in then if name not in now)]
        return [text for name in names for text in _differences(f"{key}.{name}", then.get(name), now.get(name))]
    return [] if then == now else [f"{key}: {then}, now {now}"]
