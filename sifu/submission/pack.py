"""`python -m sifu submit`: one variant's tables, those of scratch next to it, a manifest and the method's code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from sifu import RULES_VERSION, __version__
from sifu.catalog.source import OWN, module_file, top_of
from sifu.config.fields import build, to_plain
from sifu.config.run import Run
from sifu.config.scenario import Scenario
from sifu.config.variant import Variant
from sifu.errors import StoreError
from sifu.plan.code_hash import code_hash, used_modules
from sifu.plan.freshness import method_module
from sifu.plan.load import load_variant, read_all, read_yaml
from sifu.replication.manifest import block_entry
from sifu.store.parquet import read_table
from sifu.store.schemas import CELLS
from sifu.submission.archive import MANIFEST, write_archive
from sifu.submission.manifest import FORMAT, Submission, digest

REFERENCE = "scratch"


class Packed(NamedTuple):
    """What an archive holds, for the line that is printed."""

    path: Path
    files: int
    scenarios: list[str]


def pack(config: Path, name: str, target: Path, link: str = "") -> Packed:
    """Write the archive of one variant of a config's run: every scenario in which it and scratch were run."""
    results = Path(build(Run, read_yaml(config), "").results)
    variant = load_variant(config.parent / "variants.yaml", name)
    scenarios = _scenarios(results, name)
    all_scenarios = read_all(Scenario, config.parent / "scenarios.yaml", "scenarios")
    tables = _tables(results, name, variant, {key: all_scenarios[key] for key in scenarios})
    files = {path.relative_to(results).as_posix(): path.read_bytes() for path in tables}
    files |= method_code(method_module(variant.method))
    submission = Submission(
        format=FORMAT,
        suite=__version__,
        rules_version=RULES_VERSION,
        name=name,
        variant=_plain(variant),
        module=method_module(variant.method),
        code_hash=code_hash(method_module(variant.method)),
        files={path: digest(data) for path, data in sorted(files.items())},
        scenarios={key: _plain(all_scenarios[key]) for key in scenarios},
        blocks=[block_entry(path, results) for path in tables if path.parts[len(results.parts)] == "unlearn"],
        link=link,
    )
    write_archive(target, files | {MANIFEST: submission.text().encode()})
    return Packed(target, len(files) + 1, scenarios)


def _plain(settings: Scenario | Variant) -> dict[str, object]:
    """As JSON has it: tuples are lists."""
    plain: dict[str, object] = json.loads(json.dumps(to_plain(settings)))
    return plain


def _scenarios(results: Path, name: str) -> list[str]:
    """Where the variant has tables; refused where scratch has none of the same seeds."""
    found = sorted({path.parents[2].name for path in results.glob(f"unlearn/*/{name}/*/cells.parquet")})
    if not found or name == REFERENCE:
        own = f"{REFERENCE} is part of every submission: name your own variant" if name == REFERENCE else ""
        first = "run it first (`python -m sifu run --config ...`), and name its config with --config"
        raise StoreError(own or f"{name} has no answers under {results}: {first}")
    for scenario in found:
        theirs, scratch = (_blocks(results, scenario, variant) for variant in (name, REFERENCE))
        if not theirs <= scratch:
            raise StoreError(f"{scenario}: {REFERENCE} was not run in the block {min(theirs - scratch)} of {name}")
    return found


def _blocks(results: Path, scenario: str, variant: str) -> set[str]:
    return {path.parent.name for path in results.glob(f"unlearn/{scenario}/{variant}/*/cells.parquet")}


def _tables(results: Path, name: str, variant: Variant, scenarios: dict[str, Scenario]) -> list[Path]:
    """The tables of a submission, each readable under today's rules."""
    paths = []
    for scenario, settings in scenarios.items():
        for block in sorted(_blocks(results, scenario, name)):
            paths += [results / "unlearn" / scenario / one / block / "cells.parquet" for one in (name, REFERENCE)]
            paths.append(results / "train" / scenario / block / "cells.parquet")
            paths.append(results / "verify" / scenario / block / "metrics.parquet")
            own = results / "train" / scenario / name / block / "cells.parquet"
            paths += [own] if own.exists() else []
        if variant.search is not None:
            searched = settings.searched_as or scenario
            paths += sorted(results.glob(f"search/{searched}/{name}/*/search.parquet"))
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise StoreError(f"{missing} does not exist: let the run end first")
    for path in paths:
        if path.name == "cells.parquet":
            read_table(path, CELLS)
    return list(dict.fromkeys(paths))


def method_code(module: str) -> dict[str, bytes]:
    """The source of a method, and of what it uses of its own package: to be read by people, never run."""
    used = [name for name in used_modules(module) if top_of(name) != OWN] or [module]
    files = {name: module_file(name) for name in used}
    return {
        f"code/{name.replace('.', '/')}{'/__init__' if path.stem == '__init__' else ''}.py": path.read_bytes()
        for name, path in files.items()
        if path is not None and path.suffix == ".py"
    }
