"""The stored cells of a run, and how many rounds it takes to run one of them again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from sifu.errors import ConfigError, StoreError
from sifu.replication.claims.stored_tables import StoredTables, read_tables
from sifu.store.cell import CellKey
from sifu.store.parquet import read_table
from sifu.store.schemas import CELLS

_TRIVIAL = "original"  # nothing is run for it
_TRAINING = "training"


@dataclass(frozen=True)
class StoredRun:
    """The tables of a results folder, and the rounds of its trainings."""

    folder: Path
    tables: StoredTables
    training: pd.DataFrame

    def candidates(self) -> pd.DataFrame:
        """Cells that something was run for, sorted by their key."""
        cells = self.tables.cells
        kept = cells[(cells["variant"] != _TRIVIAL) & (cells["status"] != "refused")]
        return kept.sort_values(list(CellKey._fields)).reset_index(drop=True)

    def rounds(self, cell: CellKey, seeds: range, needed: tuple[str, ...] = ()) -> int:
        """Rounds of the trainings of a cell, and of all requests of its variant and of the `needed` variants: to the
        target, which is always run, and under the cell's stop rule. `seeds` that run together wait for the slowest.
        """
        answered = dict.fromkeys((name, stop) for name in (cell.variant, *needed) for stop in ("target", cell.stop))
        tasks = [*((name, _TRAINING) for name in dict.fromkeys(("train", cell.variant))), *answered]
        requests = [self._rounds.get((cell.scenario, *task), {}) for task in tasks]
        return sum(max(by_seed.get(seed, 0) for seed in seeds) for request in requests for by_seed in request.values())

    @cached_property
    def _rounds(self) -> dict[tuple[str, str, str], dict[int, dict[int, int]]]:
        """Rounds by (scenario, variant, stop), then by request, then by seed: grouped once for all cells."""
        grouped: dict[tuple[str, str, str], dict[int, dict[int, int]]] = {}
        for table in (self.training.assign(stop=_TRAINING), self.tables.cells):
            columns = (table[name].tolist() for name in (*CellKey._fields, "rounds"))
            for scenario, variant, stop, seed, request, rounds in zip(*columns, strict=True):
                grouped.setdefault((scenario, variant, stop), {}).setdefault(request, {})[seed] = rounds
        return grouped


def read_stored_run(folder: Path) -> StoredRun:
    """The run of a results folder."""
    tables = read_tables(folder)
    if not len(tables.cells):
        raise StoreError(f"no unlearned cells under {folder}: run make paper, or name a folder with --results")
    paths = [*sorted(folder.glob("train/*/*/cells.parquet")), *sorted(folder.glob("train/*/*/*/cells.parquet"))]
    frames = [read_table(path, CELLS) for path in paths]
    empty = CELLS.schema.empty_table().to_pandas()
    return StoredRun(folder, tables, pd.concat(frames, ignore_index=True) if frames else empty)


def named_cell(text: str, stored: StoredRun) -> CellKey:
    """`scenario/variant/seed` as the cell of its last request, to the target; with `/budget_25`, under that limit."""
    try:
        scenario, variant, seed, *stop = text.split("/")
        (limit,) = stop or ["target"]
        wanted = (scenario, variant, limit, int(seed))
    except ValueError:
        allowed = "scenario/variant/seed, such as mnist/sifu/0, or with a stop, such as mnist/sifu/0/budget_25"
        raise ConfigError("--cell", text, allowed) from None
    cells = stored.candidates()
    rows = cells[(cells[["scenario", "variant", "stop", "seed"]] == list(wanted)).all(axis=1)]
    if rows.empty:
        raise StoreError(f"{stored.folder} has no cell {text} ({limit}) that was run to its end")
    return CellKey(*wanted, request=int(rows["request"].max()))
