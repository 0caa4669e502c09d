"""A part of a plan, where a machine is there for a limited time: some scenarios, the first blocks of seeds."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from sifu.config.blocks import block_seeds

_BLOCK = re.compile(r"s\d+-\d+")


def is_chosen(file: str, results: Path, reported: range, scenarios: Collection[str] | None, seeds: int | None) -> bool:
    """Whether a planned file is of one of the `scenarios`, and of a block of the first `seeds` of the `reported` ones.

    None chooses all. Searches have seeds of their own; a file without a block is of all seeds.
    """
    parts = Path(file).relative_to(results).parts  # stage, scenario, ..., file
    if scenarios is not None and parts[1] not in scenarios:
        return False
    blocks = [block_seeds(part) for part in parts if _BLOCK.fullmatch(part)]
    return seeds is None or not any(block.start in reported[seeds:] for block in blocks)


def scratch_of(missing: Collection[str], results: Path) -> list[str]:
    """Scratch's cells of the verified blocks of which other methods are missing: these are compared with it.

    A block that is not verified is itself missing, and needs no word: all its methods are run for it.
    """
    found = set()
    for file in missing:
        stage, scenario, *rest = Path(file).relative_to(results).parts
        if stage == "unlearn" and (results / "verify" / scenario / rest[1] / "metrics.parquet").exists():
            found.add(str(results / stage / scenario / "scratch" / rest[1] / "cells.parquet"))
    return sorted(found - set(missing))
