"""A published run as few files, which git keeps: one for each table and dataset, instead of one for each block.

results/paper/packed/<dataset>/<stage>.<table>.parquet    the rows of all blocks, and where each block comes from
results/paper/packed/<dataset>/times.json                 when each of its jobs began, and how long it took

`pack` makes them of a run's own files, and `unpack` makes these again: the same rows with the same stamps. Everything
else reads a run's own files alone.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sifu.catalog.lookup import resolve
from sifu.config.blocks import block_seeds
from sifu.errors import ConfigError, StoreError
from sifu.plan.stage_spec import STAGES
from sifu.store.bounded import open_parquet
from sifu.store.json_file import read_json
from sifu.store.parquet import atomic, check_schema, readable, write_text
from sifu.store.table import Table

FOLDER = "packed"
_PARTS = b"sifu.parts"  # of a packed file: path, rows and stamp of each block
_TIMES, _TIME = "times.json", "time.json"
_DONE = ".unpacked.json"  # in the results: which packed files its own files were made of
Part = dict[str, Any]


def pack(results: Path, datasets: dict[str, str]) -> list[Path]:
    """Write the packed files of a run; `datasets` names the dataset of each scenario. Files of others are
    refused, and so is a folder without any.
    """
    unpack(results)  # what was published before and is not here
    found: dict[Path, list[Path]] = {}
    for stage, table in _kept():
        for path in _small(block_files(results, stage, f"{table}.parquet"), f"{stage}/{table}"):
            found.setdefault(_packed_file(results, path, datasets), []).append(path)
    if not found:
        raise StoreError(f"there are no tables of a run under {results}, so there is nothing to pack: run it first")
    for target, paths in found.items():
        _write_packed(target, results, paths)
    times = [_write_times(folder, results, datasets) for folder in sorted({target.parent for target in found})]
    for stale in {*(results / FOLDER).glob("*/*")} - {*found, *times}:  # its last block was deleted
        stale.unlink()
    made = [path.relative_to(results).as_posix() for paths in found.values() for path in paths]
    _remember(results, made)
    return [*found, *times]


def unpack(results: Path) -> None:
    """Make a run's own files of its packed ones, where these are new or have changed since.

    A file that a run has written after the last time is kept. One that is packed no longer is removed.
    """
    if not (results / FOLDER).is_dir():
        return
    known = _remembered(results)
    if known["packed"] == _state(results):
        return
    since = (results / _DONE).stat().st_mtime_ns if known["made"] else 0
    made = [
        place
        for packed in sorted((results / FOLDER).glob("*/*.parquet"))
        for place in _tables_of(packed, results, since)
    ]
    made += [
        place
        for packed in sorted((results / FOLDER).glob(f"*/{_TIMES}"))
        for place in _times_of(packed, results, since)
    ]
    for place in set(known["made"]) - set(made):
        own = results / _safe(results / _DONE, place, Path(place).name)
        if own.is_file() and not _is_newer(own, since):
            own.unlink()
    _remember(results, made)


def _kept() -> list[tuple[str, str]]:
    """Stage and name of each table that the report is made of, of stages that have blocks."""
    stages = [(name, spec) for name, spec in STAGES.items() if spec.jobs != "once" and not spec.folder]
    return [(name, table) for name, spec in stages for table in spec.tables if f"{name}/{table}" in KEPT]


KEPT = {
    "train/cells",
    "search/search",
    "scenario_search/scenario_search",
    "unlearn/cells",
    "sweep/sweep",
    "setting_sweep/setting_sweep",
    "alpha/alpha",
    "alpha_sweep/alpha",
    "request_sets/request_sets",
    "audit/audit",
    "atlas/atlas",
    "verify/metrics",
    "verify/verification",
    "forgetting/forgetting",
    "forgetting/distances",
    "forgetting/power",
    "forgetting/client_margins",
}  # histories, weights, partitions, curves and margins are too large
LARGEST = {
    "forgetting/client_margins": 4 * 2**20
}  # bytes of a block that is kept; of 38 variants with 225 models: 2 MiB


def _small(paths: list[Path], table: str) -> list[Path]:
    """Those that are not too large to be kept."""
    return [path for path in paths if path.stat().st_size <= LARGEST.get(table, math.inf)]


def block_files(results: Path, stage: str, file: str) -> list[Path]:
    """The files of this name that the blocks of a stage have."""
    return sorted(path for path in (results / stage).glob(f"**/{file}") if _is_block(path.parent.name))


def _is_block(name: str) -> bool:
    try:
        block_seeds(name)
    except ConfigError:
        return False
    return True


def _packed_file(results: Path, path: Path, datasets: dict[str, str]) -> Path:
    stage, scenario, *_ = path.relative_to(results).parts
    if scenario not in datasets:
        raise StoreError(f"{path} is of a scenario that the config does not plan: delete it, or plan it")
    return results / FOLDER / datasets[scenario] / f"{stage}.{path.stem}.parquet"


def _write_packed(target: Path, results: Path, paths: list[Path]) -> None:
    tables: list[pa.Table] = []
    parts: list[Part] = []
    for path in paths:
        with readable(path):
            rows = open_parquet(path, checksums=True).read(use_threads=False)
        stamp = {key.decode(): value.decode() for key, value in (rows.schema.metadata or {}).items()}
        place = path.relative_to(results).as_posix()
        parts.append({"path": place, "rows": rows.num_rows, "stamp": stamp})
        tables.append(rows.replace_schema_metadata())
    whole = pa.concat_tables(tables, promote_options="default")
    whole = whole.select([name for name in _table(target).schema.names if name in whole.column_names])
    for part, rows in zip(parts, tables, strict=True):  # columns that are younger than the block
        part["without"] = [name for name in whole.column_names if name not in rows.column_names]
    described = whole.replace_schema_metadata({_PARTS: json.dumps(parts).encode()})
    with atomic(target) as temporary:
        pq.write_table(described, temporary, compression="zstd", write_page_checksum=True)


def _tables_of(packed: Path, results: Path, since: int) -> list[str]:
    """Write the blocks of a packed file, but for those with a file that is newer than `since`. Their paths."""
    schema, (stage, _, table) = _table(packed), packed.stem.partition(".")
    with readable(packed):
        whole = open_parquet(packed, checksums=True).read(use_threads=False)
    parts, first = _parts(packed, whole), 0
    if sum(part["rows"] for part in parts) != whole.num_rows:
        raise StoreError(f"{packed} is not a packed table: it has {whole.num_rows} rows, its parts have others")
    for part in parts:
        rows = whole.slice(first, part["rows"]).drop_columns(part["without"]).replace_schema_metadata(part["stamp"])
        first += part["rows"]
        own = results / _safe(packed, part["path"], f"{table}.parquet", stage)
        check_schema(own, rows.schema, schema)
        if not _is_newer(own, since):
            with atomic(own) as temporary:
                pq.write_table(rows, temporary, compression="zstd", write_page_checksum=True)
    return [part["path"] for part in parts]


def _table(packed: Path) -> Table:
    """The table that a packed file holds, by its name."""
    stage, _, table = packed.stem.partition(".")
    if f"{stage}/{table}" not in KEPT:
        raise StoreError(f"{packed} is not a packed table")
    found: Table = resolve(STAGES[stage].tables[table])
    return found


def _times_of(packed: Path, results: Path, since: int) -> list[str]:
    times = read_json(packed)
    for place, time in times.items():
        own = results / _safe(packed, place, _TIME)
        if not isinstance(time, dict):
            raise StoreError(f"{packed} is not a list of times")
        if not _is_newer(own, since):
            write_text(own, json.dumps(time) + "\n")
    return list(times)


def _is_newer(own: Path, since: int) -> bool:
    """Whether a run has written a file since the last unpacking; before the first one, whether it is there."""
    return own.exists() and own.stat().st_mtime_ns > since


def _parts(packed: Path, whole: pa.Table) -> list[Part]:
    """What a packed file says of its blocks."""
    try:
        parts = json.loads((whole.schema.metadata or {})[_PARTS])
        good = all(
            isinstance(part["path"], str)
            and type(part["rows"]) is int
            and part["rows"] >= 0
            and set(part["without"]) <= set(whole.column_names)
            and all(isinstance(word, str) for pair in part["stamp"].items() for word in pair)
            for part in parts
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        good = False
    if not good:
        raise StoreError(f"{packed} is not a packed table: it does not say where its rows come from")
    return list(parts)


def _safe(packed: Path, place: str, file: str, stage: str = "") -> Path:
    """A path inside the results, as a stage would have it; a packed file of somebody else may name any."""
    parts = Path(place).parts
    inside = 4 <= len(parts) <= 5 and all(part not in ("", ".", "..", "/") and "\\" not in part for part in parts)
    known = inside and parts[0] in STAGES and stage in ("", parts[0]) and _is_block(parts[-2]) and parts[-1] == file
    if not known or Path(place).is_absolute():
        raise StoreError(f"{packed} names {place[:100]!r}, which is no place of a table")
    return Path(place)


def _write_times(folder: Path, results: Path, datasets: dict[str, str]) -> Path:
    """The times of all jobs of a dataset."""
    times = {}
    for path in sorted(results.glob(f"*/*/**/{_TIME}")):
        place = path.relative_to(results)
        if place.parts[0] in STAGES and datasets.get(place.parts[1]) == folder.name and _is_block(path.parent.name):
            times[place.as_posix()] = read_json(path)
    write_text(folder / _TIMES, json.dumps(times, indent=0) + "\n")
    return folder / _TIMES


def _state(results: Path) -> dict[str, str]:
    """A digest of each packed file."""
    files = sorted((results / FOLDER).glob("*/*"))
    return {str(file.relative_to(results)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def _remembered(results: Path) -> dict[str, Any]:
    """What was unpacked last, and to which files."""
    known = read_json(results / _DONE) if (results / _DONE).exists() else {}
    return {"packed": known.get("packed"), "made": known.get("made") or []}


def _remember(results: Path, made: list[str]) -> None:
    write_text(results / _DONE, json.dumps({"packed": _state(results), "made": sorted(made)}) + "\n")
