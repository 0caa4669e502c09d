"""How figures, tables and pages say what has not been run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_FEW = 8  # files that are named one by one


def missing_words(missing: Sequence[str]) -> str:
    """How many tables are missing."""
    return "1 planned table is missing" if len(missing) == 1 else f"{len(missing)} planned tables are missing"


def missing_names(missing: Sequence[str], root: Path) -> list[str]:
    """Which: files under `root` while they are few, else stages with their scenarios, or how many these are."""
    if len(missing) <= _FEW:
        return list(missing)
    stages: dict[str, list[str]] = {}
    for stage, *scenario in sorted({Path(file).relative_to(root).parent.parts[:2] for file in missing}):
        stages.setdefault(stage, []).extend(scenario)  # the null space alone has no scenario
    return [f"{stage} of {_listed(names)}" if names else stage for stage, names in stages.items()]


def stage_of(file: str, root: Path) -> str:
    """The stage of a planned file under `root`."""
    return Path(file).relative_to(root).parts[0]


def _listed(scenarios: list[str]) -> str:
    return ", ".join(scenarios) if len(scenarios) <= _FEW else f"{len(scenarios)} scenarios"
