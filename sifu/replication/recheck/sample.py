"""Which cells are run again: a random sample of those that are cheap enough."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from sifu.errors import DataError, StoreError
from sifu.replication.recheck.pace import Pace
from sifu.replication.recheck.rerun import seeds_with
from sifu.replication.recheck.stored_run import StoredRun
from sifu.store.cell import CellKey


def sample_cells(
    stored: StoredRun, count: int, minutes: float, seed: int, pace_of: Callable[[str], Pace], *, together: bool = False
) -> list[CellKey]:
    """At most `count` cells, each of which takes at most its share of `minutes` by estimate.

    One re-run answers all requests of a scenario, variant, stop and seed, or (`together`) of all seeds of a block; it
    is drawn once. A scenario without its dataset is left out.
    """
    cells = [CellKey(*row) for row in stored.candidates()[list(CellKey._fields)].itertuples(index=False)]
    paces = _paces({cell.scenario for cell in cells}, pace_of)
    known = [cell for cell in cells if cell.scenario in paces]
    if not known:
        raise DataError("no dataset of the stored cells is here: set SIFU_DATA_ROOT, or name it with --data-root")
    runs = _runs(known, stored.folder, together)
    cost = {cell: _seconds(cell, seeds, stored, paces[cell.scenario]) for cell, seeds in runs.items()}
    limit = 60 * minutes / count
    cheap = [cell for cell in runs if cost[cell] <= limit]
    if not cheap:
        least = min(cost.values()) * count / 60
        raise StoreError(f"no stored cell fits into {minutes:g} minutes for {count}: allow --minutes {least:.3g}")
    random.Random(seed).shuffle(cheap)
    return cheap[:count]


def _runs(cells: list[CellKey], folder: Path, together: bool) -> dict[CellKey, range]:
    """The first cell of each re-run, and the seeds that are run with it."""
    sequences = {cell[:4]: cell for cell in reversed(cells)}.values()
    first = {(cell[:3], seeds_with(cell, folder, together=together)): cell for cell in sequences}
    return {cell: seeds for (_, seeds), cell in sorted(first.items(), key=lambda item: item[1])}


def _seconds(cell: CellKey, seeds: range, stored: StoredRun, pace: Pace) -> float:
    return pace.round_seconds * stored.rounds(cell, seeds, pace.needed)


def _paces(scenarios: set[str], pace_of: Callable[[str], Pace]) -> dict[str, Pace]:
    """The pace of each scenario whose dataset is available."""
    paces = {}
    for name in sorted(scenarios):
        try:
            paces[name] = pace_of(name)
        except DataError:
            continue
    return paces
