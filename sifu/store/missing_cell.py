"""Why a cell is not found: which name lies nowhere under the results, and what lies there instead."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from sifu.config.blocks import block_seeds
from sifu.errors import ConfigError, did_you_mean
from sifu.store.paths import stage_folder

_RUN = "run its stage `unlearn` first"
_CELLS = "cells.parquet"


def why_missing(results: Path, scenario: str, variant: str, seed: int) -> str:
    """One sentence: the first of results, scenario, variant and seed that is not there."""
    top = stage_folder(results, "unlearn")
    scenarios = _names(top, f"*/*/s*/{_CELLS}")
    if not scenarios:
        return f"nothing was unlearned under {top}{_other_results(results) or f': {_RUN}'}"
    if scenario not in scenarios:
        return _no("scenario", scenario, top, scenarios)
    folder = stage_folder(results, "unlearn", scenario)
    variants = _names(folder, f"*/s*/{_CELLS}")
    if variant not in variants:
        return _no("variant", variant, folder, variants)
    seeds = _seeds(folder / variant)
    number = f"seed{'s' if len(seeds) != 1 else ''} {_ranges(seeds)}" if seeds else "no blocks of seeds"
    return f"no seed {seed} under {folder / variant}; it has {number}"


def seeds_of(block: str) -> range:
    """The seeds of a folder with the name of a block; of any other none."""
    try:
        return block_seeds(block)
    except ConfigError:
        return range(0)


def _no(kind: str, name: str, folder: Path, names: list[str]) -> str:
    close = did_you_mean(name, names)
    return f"no {kind} {name} under {folder}{close or f', which has {_listed(names)}: {_RUN}'}"


def _names(folder: Path, pattern: str) -> list[str]:
    """The folders in one folder that lead to tables of cells."""
    return sorted({path.relative_to(folder).parts[0] for path in folder.glob(pattern)})


def _other_results(results: Path) -> str:
    """Folders of results inside of this one: each config has its own."""
    inner = [results / name for name in _names(results, f"*/unlearn/*/*/s*/{_CELLS}")]
    return f"; --results may be {_listed(map(str, inner), 'or')}" if inner else ""


def _seeds(folder: Path) -> list[int]:
    return sorted({seed for path in folder.glob(f"s*/{_CELLS}") for seed in seeds_of(path.parent.name)})


def _ranges(seeds: list[int]) -> str:
    """`0, 1 and 4 to 9`."""
    starts = [0, *(place for place, (a, b) in enumerate(pairwise(seeds), start=1) if b != a + 1), len(seeds)]
    runs = [seeds[start:end] for start, end in pairwise(starts)]
    return _listed(word for run in runs for word in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run)))


def _listed(words: Iterable[str], last: str = "and") -> str:
    """`a, b and c`."""
    *first, end = words
    return f"{', '.join(first)} {last} {end}" if first else end
