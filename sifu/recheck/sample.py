"""Which cells are run again: a random sample of those that are cheap enough."""

from __future__ import annotations

import random
from collections.abc import Callable

from sifu.cell import Wanted
from sifu.errors import DataError, StoreError
from sifu.recheck.pace import Pace
from sifu.recheck.rerun import seeds_with
from sifu.recheck.stored import Stored


def sample_cells(
    stored: Stored, count: int, minutes: float, seed: int, pace_of: Callable[[str], Pace], *, together: bool = False
) -> list[Wanted]:
    """At most `count` cells, each of which takes at most its share of `minutes` by estimate; `together`: with all
    seeds of its block.

    Cells of one seed's sequence (scenario, variant, stop, seed) are run by one re-run, so each sequence is drawn once.
    A scenario without its dataset is passed over.
    """
    cells = [Wanted(*row) for row in stored.candidates()[list(Wanted._fields)].itertuples(index=False)]
    paces = _paces({cell.scenario for cell in cells}, pace_of)
    known = [cell for cell in cells if cell.scenario in paces]
    if not known:
        raise DataError("no dataset of the stored cells is here: set SIFU_DATA_ROOT, or name it with --data-root")
    cost = {cell[:4]: _seconds(cell, stored, paces[cell.scenario], together) for cell in _sequences(known)}
    limit = 60 * minutes / count
    cheap = [cell for cell in known if cost[cell[:4]] <= limit]
    if not cheap:
        least = min(cost.values()) * count / 60
        raise StoreError(f"no stored cell fits into {minutes:g} minutes for {count}: allow --minutes {least:.3g}")
    random.Random(seed).shuffle(cheap)
    return _sequences(cheap)[:count]


def _sequences(cells: list[Wanted]) -> list[Wanted]:
    """The first cell of each sequence of requests."""
    found: dict[tuple[object, ...], Wanted] = {}
    for cell in cells:
        found.setdefault(cell[:4], cell)
    return list(found.values())


def _seconds(cell: Wanted, stored: Stored, pace: Pace, together: bool) -> float:
    return pace.round_seconds * stored.rounds(cell, seeds_with(cell, stored.folder, together=together), pace.beside)


def _paces(scenarios: set[str], pace_of: Callable[[str], Pace]) -> dict[str, Pace]:
    """Of each scenario whose dataset is here."""
    found = {}
    for name in sorted(scenarios):
        try:
            found[name] = pace_of(name)
        except DataError:
            continue
    return found
