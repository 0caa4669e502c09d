"""Adds what a part of a run has made to the results that are there.

A file that is not there is copied. Of one that is there, the old stays. But where methods of a scenario were run later
than others, their rows are added to its tables of verification: they were measured against the same scratch models.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sifu.catalog.lookup import resolve
from sifu.errors import StoreError
from sifu.plan.stage_spec import STAGES
from sifu.report.packed import unpack
from sifu.stages.verify import REFERENCE
from sifu.store.json_file import read_json
from sifu.store.parquet import atomic, read_stamp, read_table, write_table, write_text
from sifu.store.paths import UNFINISHED
from sifu.store.provenance import Provenance
from sifu.store.table import Table

STAGE = "verify"
_CLOSE = 1e-4  # of a number of scratch: the last digit that is printed of an accuracy
_TIME = "time.json"
_FROM = ("commit", "device", "code_hash", "torch", "numpy")


class Added(NamedTuple):
    """What a part has brought."""

    files: int  # that were not there
    methods: dict[str, list[str]]  # of a verified block, <scenario>/<block>: those whose rows are new


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
    for block in sorted({place.parent for place in places if place.parts[0] == STAGE}):
        if (results / block / "metrics.parquet").exists() and (part / block / "metrics.parquet").exists():
            methods["/".join(block.parts[1:])] = _add_rows(part / block, results / block)
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


def _add_rows(part: Path, own: Path) -> list[str]:
    """Adds a block's methods that are not verified in `own`; returns their names."""
    tables: dict[str, Table] = {name: resolve(target) for name, target in STAGES[STAGE].tables.items()}
    names = [name for name in tables if (own / f"{name}.parquet").exists() and (part / f"{name}.parquet").exists()]
    before, after = ({name: read_table(at / f"{name}.parquet", tables[name]) for name in names} for at in (own, part))
    new = sorted(set(after["metrics"]["variant"]) - set(before["metrics"]["variant"]))
    if not new:
        return []
    _refuse_other_settings(part, own)
    for name in names:
        _refuse_other_scratch(before[name], after[name], list(tables[name].key), part)
    stamp = Provenance(**_joined(read_stamp(own / "metrics.parquet"), read_stamp(part / "metrics.parquet"), new))
    for name in names:
        rows = pd.concat([before[name], after[name][after[name]["variant"].isin(new)]], ignore_index=True)
        write_table(own / f"{name}.parquet", tables[name], rows, stamp)
    _add_time(part / _TIME, own / _TIME)
    return new


def _refuse_other_settings(part: Path, own: Path) -> None:
    before, after = (json.loads(read_stamp(at / "metrics.parquet")["settings"]) for at in (own, part))
    if before != after:
        other = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
        raise StoreError(f"{part} was run with other settings ({', '.join(other)}) than {own}: run all methods again")


def _refuse_other_scratch(before: pd.DataFrame, after: pd.DataFrame, key: list[str], part: Path) -> None:
    """The scratch models that both were compared with must be the same ones."""
    before, after = (rows[rows["variant"] == REFERENCE].set_index(key).sort_index() for rows in (before, after))
    numbers = before.select_dtypes("number").columns
    same = before.index.equals(after.index) and np.allclose(
        before[numbers].to_numpy(float), after[numbers].to_numpy(float), rtol=_CLOSE, atol=_CLOSE, equal_nan=True
    )
    if not same:
        raise StoreError(f"{part} has other scratch models than the stored block: run all methods again")


def _joined(stamp: dict[str, str], part: dict[str, str], new: list[str]) -> dict[str, str]:
    """The stamp of the stored block; its notes say where the new methods come from."""
    notes: dict[str, Any] = json.loads(stamp.get("notes") or "{}")
    notes.setdefault("added", []).append({"variants": new} | {key: part[key] for key in _FROM})
    return stamp | {"notes": json.dumps(notes, sort_keys=True)}


def _add_time(part: Path, own: Path) -> None:
    """The seconds of both; began when the first did."""
    if not (part.exists() and own.exists()):
        return
    before, after = read_json(own), read_json(part)
    summed = {key: round(before[key] + after[key], 2) for key in ("seconds", "cpu_seconds") if key in before}
    write_text(own, json.dumps(before | summed) + "\n")
