"""What a submission has to pass before anything of it is run: a function a check, a sentence a finding.

A check gives back what it found, or raises an error whose message says what is wrong.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from sifu import RULES_VERSION
from sifu.catalog.methods import METHODS
from sifu.config.fields import build, to_plain
from sifu.config.scenario import Scenario
from sifu.config.variant import Variant
from sifu.errors import StoreError, cut
from sifu.plan.code_hash import code_hash
from sifu.plan.freshness import method_module, relevant_settings
from sifu.plan.load import load_scenario, read_all
from sifu.replication.claims.stored_tables import StoredTables, read_tables
from sifu.replication.published import differences
from sifu.replication.recheck.rerun import Machine, rerun_method
from sifu.store.experiment_schemas import SEARCH
from sifu.store.parquet import read_stamp, read_table
from sifu.store.schemas import CELLS, METRICS, VERIFICATION
from sifu.submission.archive import MANIFEST
from sifu.submission.manifest import Submission, digest
from sifu.submission.pack import REFERENCE, method_code
from sifu.unlearning.method import OwnTraining

_SCHEMAS = {"cells": CELLS, "metrics": METRICS, "verification": VERIFICATION, "search": SEARCH}
_KEY = ["stop", "seed", "request"]
_OF_PLUGINS = "metrics"  # which further metrics were measured: no part of what is compared
FEW_SEEDS = 3


@dataclass(frozen=True)
class Unpacked:
    """A submission in a folder, and what it is compared with."""

    folder: Path
    submission: Submission
    machine: Machine  # without the submitted variant
    trusted: str = ""  # `module:name` of a method that the person who checks has named

    @property
    def name(self) -> str:
        return self.submission.name

    @property
    def scenarios(self) -> list[str]:
        return sorted({path.parents[2].name for path in self.folder.glob(f"unlearn/*/{self.name}/*/cells.parquet")})

    @cached_property
    def variant(self) -> Variant:
        """The submitted variant; its method is looked up by name, and code that it names is not imported."""
        method = self.submission.variant.get("method")
        if not isinstance(method, str) or (method != self.trusted and method not in METHODS.names()):
            words = "install the package that brings it (`python -m sifu plugins` lists what is there)"
            if isinstance(method, str) and ":" in method:
                words = f"it names code: if you trust what is installed under that name, add --method {method}"
            raise StoreError(f"the method {cut(repr(method), 120)} is not known here: {words}")
        found: Variant = build(Variant, self.submission.variant, "variant")
        return found

    @cached_property
    def tables(self) -> StoredTables:
        return read_tables(self.folder)

    def scenario(self, name: str) -> Scenario:
        """The scenario as it is here, never as the submission has it."""
        return load_scenario(self.machine.config / "scenarios.yaml", name, self.machine.data_root)


def check_files(found: Unpacked) -> str:
    """Every file is the one that the manifest names."""
    files = found.submission.files
    there = {path.relative_to(found.folder).as_posix() for path in found.folder.rglob("*") if path.is_file()}
    odd = there - {MANIFEST} ^ set(files)
    if odd:
        raise StoreError(f"{cut(repr(min(odd)), 120)} is in {MANIFEST} or in the archive, not in both")
    changed = [name for name in sorted(files) if digest((found.folder / name).read_bytes()) != files[name]]
    if changed:
        raise StoreError(f"{changed[0]} is not the file that was packed: its digest differs")
    return f"{len(files)} files have the digests of {MANIFEST}"


def check_rules(found: Unpacked) -> str:
    version = found.submission.rules_version
    if version != RULES_VERSION:
        raise StoreError(f"made under the rules {cut(repr(version), 40)}, here they are {RULES_VERSION}")
    return f"rules {RULES_VERSION}"


def check_tables(found: Unpacked) -> str:
    """Columns, types, keys, rules, and rows that belong where their file lies; answers of two variants alone."""
    paths = sorted(found.folder.rglob("*.parquet"))
    for path in paths:
        read_table(path, _SCHEMAS[path.stem])
    answers = {path.parents[1].name for path in found.folder.glob("unlearn/*/*/*/cells.parquet")}
    if answers != {found.name, REFERENCE}:
        raise StoreError(f"answers of {', '.join(sorted(answers)) or 'nobody'}, expected {found.name} and {REFERENCE}")
    return f"{len(paths)} tables have the columns, keys and places that they should have"


def check_method(found: Unpacked) -> str:
    """The method is installed, and the variant is no other one under a name of the suite."""
    variant = found.variant
    known = read_all(Variant, found.machine.config / "variants.yaml", "variants").get(found.name)
    if known is not None:
        changed = differences("variant", to_plain(known), to_plain(variant))
        if changed:
            raise StoreError(
                f"{found.name} is a variant of the suite with other settings: {cut('; '.join(changed), 300)}"
            )
    module = method_module(variant.method)
    if module != found.submission.module:
        raise StoreError(f"{variant.method} is {module} here, there {cut(repr(found.submission.module), 120)}")
    return f"{variant.method} is installed ({module})"


def check_code(found: Unpacked) -> str:
    """The source that was sent is the one that is installed; it is compared, never run."""
    installed = method_code(method_module(found.variant.method))
    sent = {path.relative_to(found.folder).as_posix(): path for path in found.folder.glob("code/**/*.py")}
    odd = sorted(set(sent) ^ set(installed))
    odd += [
        name
        for name in sorted(set(sent) & set(installed))
        if _lines(sent[name].read_bytes()) != _lines(installed[name])
    ]
    if odd:
        raise StoreError(f"{odd[0]} is not what is installed here: install the submitted version of the method")
    same = code_hash(method_module(found.variant.method)) == found.submission.code_hash
    return f"{len(sent)} modules as installed here" + ("" if same else "; the suite's own code is another version")


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines()


def check_settings(found: Unpacked) -> str:
    """Every table was made with the settings that its scenario and its variant have here."""
    machine = with_variant(found)
    for scenario in found.scenarios:
        here = found.scenario(scenario)
        for variant in (found.name, REFERENCE):
            method = rerun_method(variant, here, scenario, machine)
            own = method.training(here) if isinstance(method, OwnTraining) else here
            _refuse(found, f"unlearn/{scenario}/{variant}/*/cells.parquet", relevant_settings("unlearn", own, method))
            _refuse(found, f"train/{scenario}/{variant}/*/cells.parquet", relevant_settings("train", own, method))
        _refuse(found, f"train/{scenario}/s*/cells.parquet", relevant_settings("train", here))
        _refuse(found, f"verify/{scenario}/s*/metrics.parquet", relevant_settings("verify", here))
    return f"{', '.join(found.scenarios)}: the settings of this suite"


def with_variant(found: Unpacked) -> Machine:
    """The machine with the submitted variant."""
    return replace(found.machine, brought={found.name: found.variant})


def _refuse(found: Unpacked, pattern: str, here: dict[str, Any]) -> None:
    wanted = json.loads(json.dumps(here))
    wanted.pop(_OF_PLUGINS, None)
    for path in sorted(found.folder.glob(pattern)):
        changed = differences("settings", _settings(path), wanted)
        if changed:
            name = path.relative_to(found.folder).as_posix()
            raise StoreError(f"{name} was made otherwise: {cut('; '.join(changed), 300)}")


def _settings(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(read_stamp(path)["settings"])
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        raise StoreError(f"{path.name} does not say with which settings it was made")
    settings.pop(_OF_PLUGINS, None)
    return settings


def check_coverage(found: Unpacked) -> str:
    """The method answered what scratch answered, and every answer was measured."""
    cells, metrics = found.tables.cells, found.tables.metrics
    measured = metrics[(metrics["metric"] == "accuracy") & (metrics["subset"] == "forgotten")]
    least = []
    for scenario in found.scenarios:
        rows = cells[cells["scenario"] == scenario]
        own, scratch = (_keys(rows[rows["variant"] == name]) for name in (found.name, REFERENCE))
        if own != scratch:
            raise StoreError(f"{scenario}: {found.name} has other seeds, requests or limits than {REFERENCE}")
        for name in (found.name, REFERENCE):
            answered = _keys(rows[(rows["variant"] == name) & (rows["status"] != "refused")])
            known = _keys(measured[(measured["scenario"] == scenario) & (measured["variant"] == name)])
            if not answered <= known:
                raise StoreError(f"{scenario}: {len(answered - known)} answers of {name} were not measured")
        least.append(len({seed for _, seed, _ in own}))
    few = f"; fewer than {FEW_SEEDS} seeds say little" if min(least) < FEW_SEEDS else ""
    return f"{len(least)} scenarios, at least {min(least)} seeds{few}"


def _keys(rows: pd.DataFrame) -> set[tuple[str, int, int]]:
    return set(rows[_KEY].itertuples(index=False, name=None))


CHECKS = {
    "files": check_files,
    "rules": check_rules,
    "tables": check_tables,
    "method": check_method,
    "code": check_code,
    "settings": check_settings,
    "coverage": check_coverage,
}
