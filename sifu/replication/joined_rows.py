"""Joins the rows of methods that were run later with the tables of their scenario.

They were measured against scratch, which the later run made again: where its numbers are not the stored ones, nothing
is joined. Rows of one method do not depend on those of another.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sifu.catalog.lookup import resolve
from sifu.errors import StoreError
from sifu.plan.stage_spec import STAGES
from sifu.plan.suite import Suite
from sifu.stages.verify import REFERENCE
from sifu.store.forgetting_schemas import FORGETTING
from sifu.store.json_file import read_json
from sifu.store.parquet import read_stamp, read_table, write_table, write_text
from sifu.store.paths import stage_folder
from sifu.store.provenance import Provenance
from sifu.store.table import Table

LEADS = {"verify": "metrics", "forgetting": "forgetting"}  # stage -> the table that names all of its methods
_SORTED = {"forgetting": ["request", "variant"]}  # stage -> what its rows are sorted by
_MODELS = "oracles"  # note of how many models each block has that the table was made of
_CLOSE = 1e-3  # of a number of scratch: an example more or less of a thousand, as a GPU may sum in another order
_TIME = "time.json"
_FROM = ("commit", "device", "code_hash", "torch", "numpy")


def add_rows(part: Path, results: Path, block: Path) -> list[str]:
    """Adds a block's methods that the tables of `results` do not have, or whose answers were removed there to be run
    again: their old rows go. Returns their names.
    """
    stage, own, other = block.parts[0], results / block, part / block
    tables: dict[str, Table] = {name: resolve(target) for name, target in STAGES[stage].tables.items()}
    names = [name for name in tables if all((at / f"{name}.parquet").exists() for at in (own, other))]
    before, after = ({name: read_table(at / f"{name}.parquet", tables[name]) for name in names} for at in (own, other))
    lead = LEADS[stage]
    there = set(before[lead]["variant"]) - _removed(results, block)
    new = sorted(set(after[lead]["variant"]) - there)
    if not new:
        return []
    stamp, later = (read_stamp(at / f"{lead}.parquet") for at in (own, other))
    _refuse_other_settings(stamp, later, part=other, own=own)
    of_methods = [name for name in names if "variant" in before[name]]  # what is of scratch alone stays
    for name in of_methods:
        _refuse_other_scratch(before[name], after[name], list(tables[name].key), other)
    joined = Provenance(**_joined(stamp, later, new))
    for name in of_methods:
        parts = [rows[rows["variant"].isin(new) == late] for rows, late in ((before[name], False), (after[name], True))]
        rows = pd.concat(parts, ignore_index=True)
        rows = rows.sort_values(_SORTED[stage], kind="stable") if stage in _SORTED else rows
        write_table(own / f"{name}.parquet", tables[name], rows, joined)
    for place in [block, *(Path(_MODELS, block.parts[1], one) for one in _notes(later).get(_MODELS, {}))]:
        _add_time(part / place / _TIME, results / place / _TIME)
    return new


def _removed(results: Path, block: Path) -> set[str]:
    """The methods without answers in a block of verification, though others of the scenario have theirs."""
    stage, scenario, *name = block.parts
    if stage != "verify":
        return set()
    folders = sorted((results / "unlearn" / scenario).glob("*"))
    answered = {folder.name for folder in folders if folder.joinpath(*name, "cells.parquet").exists()}
    tables = results / block / "metrics.parquet"
    return (
        set(read_table(tables, resolve(STAGES[stage].tables["metrics"]))["variant"]) - answered if answered else set()
    )


def lacking(suite: Suite, scenarios: Collection[str] | None) -> Iterator[str]:
    """A sentence for each table of forgetting that is there and lacks methods; of some `scenarios`, None: of all."""
    for job in suite.jobs["forgetting"]:
        path = stage_folder(Path(suite.run.results), "forgetting", job.scenario, job.block) / "forgetting.parquet"
        if path.exists() and (scenarios is None or job.scenario in scenarios):
            try:
                there = set(read_table(path, FORGETTING)["variant"])
            except StoreError:  # whoever reads it for its numbers says what is wrong with it
                continue
            if absent := [name for name in suite.oracle_variants(job.scenario) if name not in there]:
                yield f"{path} lacks {', '.join(absent)}: see docs/offline.md on how a few methods join it"


def _refuse_other_settings(stamp: dict[str, str], later: dict[str, str], *, part: Path, own: Path) -> None:
    before, after = (json.loads(one["settings"]) for one in (stamp, later))
    if before != after:
        other = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
        raise StoreError(f"{part} was run with other settings ({', '.join(other)}) than {own}: run all methods again")


def _refuse_other_scratch(before: pd.DataFrame, after: pd.DataFrame, key: list[str], part: Path) -> None:
    """The scratch models that both were compared with must be the same ones. A table from before a column was noted has
    nothing in it to compare.
    """
    before, after = (rows[rows["variant"] == REFERENCE].set_index(key).sort_index() for rows in (before, after))
    numbers = [name for name in before.select_dtypes("number").columns if before[name].notna().any()]
    same = before.index.equals(after.index) and np.allclose(
        before[numbers].to_numpy(float), after[numbers].to_numpy(float), rtol=_CLOSE, atol=_CLOSE, equal_nan=True
    )
    if not same:
        raise StoreError(f"{part} has other scratch models than the stored block: run all methods again")


def _joined(stamp: dict[str, str], part: dict[str, str], new: list[str]) -> dict[str, str]:
    """The stamp of the stored block; its notes say where the new methods come from, and count the models of both."""
    notes, later = _notes(stamp), _notes(part)
    notes.setdefault("added", []).append({"variants": new} | {key: part[key] for key in _FROM})
    if _MODELS in later:
        models = notes.get(_MODELS, {})
        notes[_MODELS] = models | {name: models.get(name, 0) + count for name, count in later[_MODELS].items()}
    return stamp | {"notes": json.dumps(notes, sort_keys=True)}


def _notes(stamp: dict[str, str]) -> dict[str, Any]:
    notes: dict[str, Any] = json.loads(stamp.get("notes") or "{}")
    return notes


def _add_time(part: Path, own: Path) -> None:
    """The seconds of both; began when the first did."""
    if not (part.exists() and own.exists()):
        return
    before, after = read_json(own), read_json(part)
    summed = {key: round(before[key] + after[key], 2) for key in ("seconds", "cpu_seconds") if key in before}
    write_text(own, json.dumps(before | summed) + "\n")
