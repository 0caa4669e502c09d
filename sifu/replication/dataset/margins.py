"""Writes the dataset: of every scenario all margins in one file, a row group a model, and the points they are about."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import yaml

from sifu import RULES_VERSION, __version__
from sifu.errors import StoreError
from sifu.replication.dataset.croissant import About, TableFile, data_card
from sifu.store.oracle_schemas import MARGINS, POINTS
from sifu.store.parquet import atomic, check_schema, read_stamp, readable, write_text
from sifu.store.table import Table

LICENCE = "https://opensource.org/license/mit"
_CHUNK = 2**20  # bytes


def write_dataset(
    folder: Path, blocks: dict[str, list[Path]], command: str, published: str, url: str | None = None
) -> list[TableFile]:
    """The folders of the oracles' `blocks` of each scenario as one dataset in `folder`, and its description."""
    missing = [str(one) for paths in blocks.values() for one in paths if not (one / "margins.parquet").exists()]
    if missing or not blocks:
        named = ", ".join(missing) or "none"
        raise StoreError(f"the margins of oracles are not there yet ({named}): run `{command}` first")
    files = [file for name, paths in blocks.items() for file in _scenario(folder, name, paths)]
    about = _about(list(blocks), published, url)
    write_text(folder / "croissant.json", json.dumps(data_card(about, files), indent=1) + "\n")
    write_text(folder / "SHA256SUMS", "".join(f"{file.sha256}  {file.path}\n" for file in files))
    write_text(folder / "README.md", readme(about, files, _origins(blocks), command))
    return files


def _scenario(folder: Path, name: str, blocks: Sequence[Path]) -> list[TableFile]:
    margins, points = folder / name / "margins.parquet", folder / name / "points.parquet"
    _join([one / "margins.parquet" for one in blocks], margins)
    with atomic(points) as temporary:
        shutil.copyfile(_points(blocks), temporary)
    return [_described(folder, margins, MARGINS), _described(folder, points, POINTS)]


def _points(blocks: Sequence[Path]) -> Path:
    """The points of a scenario: the same in all blocks, but that earlier ones do not name the images."""
    paths = [one / "points.parquet" for one in blocks]
    return next((path for path in paths if "row" in _columns(path)), paths[0])


def _columns(path: Path) -> list[str]:
    with readable(path):
        schema = pq.read_schema(path)
        check_schema(path, schema, POINTS)
        return schema.names


def _join(paths: Sequence[Path], target: Path) -> None:
    """All row groups of some files in one; one group at a time, as together they may not fit into memory."""
    with readable(paths[0]):
        schema = pq.read_schema(paths[0])
    with atomic(target) as temporary, pq.ParquetWriter(temporary, schema, write_page_checksum=True) as writer:
        for path in paths:
            with readable(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
                check_schema(path, file.schema_arrow, MARGINS)
                for group in range(file.num_row_groups):
                    writer.write_table(file.read_row_group(group).cast(schema))


def _described(folder: Path, path: Path, table: Table) -> TableFile:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_CHUNK):
            digest.update(part)
    there = pq.read_schema(path).names
    table = replace(table, columns=tuple(column for column in table.columns if column.name in there))
    return TableFile(path.relative_to(folder).as_posix(), table, digest.hexdigest(), path.stat().st_size)


def _about(scenarios: Sequence[str], published: str, url: str | None) -> About:
    words = (
        "How surely many models of the same federation give the right answer on every example, after clients were "
        "unlearned by several methods, and after training without them: for measures of forgetting that need many "
        f"models. Scenarios: {', '.join(scenarios)}. No image is part of it; points name theirs by row."
    )
    cite = f"sifu, a benchmark suite for federated unlearning, version {__version__}, rules {RULES_VERSION}"
    return About("sifu-margins", words, f"{RULES_VERSION}.0", LICENCE, url, published, cite)


def _origins(blocks: dict[str, list[Path]]) -> list[str]:
    """What the models of each scenario were made from, as their tables say it."""
    lines = ["", "## Scenarios"]
    for name, paths in blocks.items():
        stamps = [read_stamp(one / "margins.parquet") for one in paths]
        made = {key: ", ".join(sorted({stamp[key] for stamp in stamps})) for key in ("commit", "device", "torch")}
        lines += ["", f"### {name}", "", f"Commit {made['commit']}, torch {made['torch']}, on {made['device']}."]
        for settings in sorted({stamp["settings"] for stamp in stamps}):
            lines += ["", "```yaml", yaml.safe_dump(json.loads(settings), sort_keys=True).rstrip(), "```"]
    return lines


def readme(about: About, files: Sequence[TableFile], origins: Sequence[str], command: str) -> str:
    """What a person reads first: what it is, its tables, how to check and how to make it."""
    lines = [
        "# Margins of many models",
        "",
        about.description,
        "",
        "| file | bytes | rows are |",
        "| --- | --- | --- |",
    ]
    lines += [f"| `{file.path}` | {file.size:,} | {file.table.meaning} |" for file in files]
    for table in (files[0].table, files[1].table):
        lines += ["", f"## {table.name}", "", f"Key: {', '.join(table.key)}.", "", "| column | type | meaning |"]
        lines += ["| --- | --- | --- |", *(f"| `{c.name}` | {c.type} | {_cell(c.meaning)} |" for c in table.columns)]
    lines += ["", "## Use", "", "```python", "import pandas as pd", "", f'points = pd.read_parquet("{files[1].path}")']
    lines += [f'margins = pd.read_parquet("{files[0].path}")  # margins["margins"][k][i] is about points.loc[i]', "```"]
    lines += origins
    lines += [
        "",
        "## Check",
        "",
        "`sha256sum -c SHA256SUMS` checks the files; `croissant.json` is their data card (Croissant 1.0).",
    ]
    lines += ["", f"Made by `{command}`, rules {RULES_VERSION}. Licence: {about.licence}", ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
