"""Adds what a part of a run has made to the results that are there.

A file that is not there is copied. Of one that is there, the old stays. But where methods of a scenario were run later
than others, their rows join its tables of verification and of forgetting (joined_rows.py).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sifu.errors import StoreError
from sifu.plan.stage_spec import STAGES
from sifu.replication.joined_rows import LEADS, add_rows
from sifu.report.packed import unpack
from sifu.store.parquet import atomic
from sifu.store.paths import UNFINISHED


class Added(NamedTuple):
    """What a part has brought."""

    files: int  # that were not there
    methods: dict[str, list[str]]  # of a block, <stage>/<scenario>/<block>: those whose rows are new


def add_part(part: Path, results: Path, planned: Collection[str] | None = None) -> Added:
    """Adds the tables and times under `part`, a results folder, to `results`. Refuses a part without any, and one with
    scenarios besides the `planned`; None: any.
    """
    places = sorted(place for path in _files(part) if _is_result(place := path.relative_to(part)))
    if not places:
        raise StoreError(f"{part} has no tables: give the folder with {', '.join(list(STAGES)[:3])}, ...")
    _refuse_unplanned(part, places, planned)
    unpack(results)
    methods = {}
    for block in sorted({place.parent for place in places if place.parts[0] in LEADS}):
        lead = f"{LEADS[block.parts[0]]}.parquet"
        if (results / block / lead).exists() and (part / block / lead).exists():
            methods[block.as_posix()] = add_rows(part, results, block)
    new = [place for place in places if not (results / place).exists() and _is_told_apart(place, results)]
    for place in new:
        _copy(part / place, results / place)
    return Added(len(new), {block: names for block, names in methods.items() if names})


def _files(part: Path) -> Iterator[Path]:
    """All files of stages; links are left alone."""
    for stage in STAGES:
        for folder, _, names in os.walk(part / stage):
            found = (Path(folder, name) for name in names)
            yield from (path for path in found if path.is_file() and not path.is_symlink())


def _is_result(place: Path) -> bool:
    """No history or weights, nor what a process keeps for itself, but what an unfinished audit has counted."""
    hidden = [name for name in place.parts if name.startswith(".")]
    counted = place.parts[0] == "audit" and hidden == [UNFINISHED]
    return place.suffix != ".safetensors" and (not hidden or counted)


def _refuse_unplanned(part: Path, places: Sequence[Path], planned: Collection[str] | None) -> None:
    found = {place.parts[1] for place in places if len(place.parts) > 2}  # a stage without blocks is of no scenario
    unknown = sorted(found - set(found if planned is None else planned))
    if unknown:
        raise StoreError(
            f"{part} has results of {', '.join(unknown)}, which the config does not plan: plan or delete them"
        )


def _is_told_apart(place: Path, results: Path) -> bool:
    """Not the time of a job without tables next to a training that is there: the manifest would give it that training's
    device and commit.
    """
    stage, *rest = place.parts[:-1]
    return bool(STAGES[stage].tables) or not Path(results, "train", *rest, "cells.parquet").exists()


def _copy(source: Path, target: Path) -> None:
    with atomic(target) as temporary:
        shutil.copyfile(source, temporary)
