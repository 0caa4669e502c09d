"""How figures, tables and pages say what has not been run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_FEW = 8  # files that are named one by one


def missing_words(missing: Sequence[str]) -> str:
    """How many tables are missing."""
    return "1 planned table is missing" if len(missing) == 1 else f"{len(missing)} planned tables are missing"


def to_run(missing: Sequence[str], left_out: Sequence[str]) -> str:
    """A calm line of what a plan still lacks: tables, and scenarios without their datasets."""
    counts = [(len(missing), "table"), (len(left_out), "scenario")]
    words = [f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts if count]
    of_data = " without data here" if left_out else ""
    return f"Part of the plan is still to run: {' and '.join(words)}{of_data}."


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
