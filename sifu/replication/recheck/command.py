"""`python -m sifu verify-paper`: draw cells, run them again, print a table."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sifu.hardware.device import choose_device
from sifu.replication.claims.stored_tables import read_tables
from sifu.replication.recheck.agreement import Agreement, Compared, compare, text, worst
from sifu.replication.recheck.pace import pace_of
from sifu.replication.recheck.rerun import Machine, changed_since, rerun, seeds_with
from sifu.replication.recheck.sample import sample_cells
from sifu.replication.recheck.stored_run import StoredRun, named_cell, read_stored_run
from sifu.store.cell import CellKey, cells_file
from sifu.store.parquet import read_stamp

_WEAK = "within seeds: no closer than another seed would be; rounding of another device, torch or block may do that"


@dataclass(frozen=True)
class Chosen:
    """Which cells are run again: those that are named, else a sample."""

    names: list[str]
    count: int
    minutes: float
    sample_seed: int

    def cells(self, stored: StoredRun, machine: Machine) -> list[CellKey]:
        if self.names:
            return [named_cell(name, stored) for name in self.names]
        kind = choose_device(machine.device).type
        pace = partial(pace_of, machine.config, data_root=machine.data_root, kind=kind)
        return sample_cells(stored, self.count, self.minutes, self.sample_seed, pace, together=machine.together)


def recheck(chosen: Chosen, machine: Machine) -> int:
    """1 where a number of a cell differs from the stored one (agreement.py says when), else 0."""
    stored = read_stored_run(machine.stored)
    cells: list[tuple[str, list[Compared]]] = []
    for cell in chosen.cells(stored, machine):
        print(f"again: {cell_name(cell)}{_as_made(cell, machine)}", file=sys.stderr)
        for name, numbers in again(cell, stored, machine).items():
            print(f"{name}: {overall(numbers).value}", file=sys.stderr)
            cells.append((name, numbers))
    _print(cells)
    counts = Counter(overall(numbers) for _, numbers in cells)
    summary = ", ".join(f"{counts[agreement]} {agreement.value}" for agreement in Agreement)
    print(f"cells run again, compared with those of {machine.stored}: {summary}")
    if counts[Agreement.WITHIN_SEEDS]:
        print(_WEAK)
    return 1 if counts[Agreement.DIFFERS] else 0


def _as_made(cell: CellKey, machine: Machine) -> str:
    """`, as it was made: clip was none`, where the scenario has other settings today."""
    changed = changed_since(cell, machine)
    return f", as it was made: {', '.join(changed)}" if changed else ""


def again(cell: CellKey, stored: StoredRun, machine: Machine) -> dict[str, list[Compared]]:
    """The compared numbers of every seed that is run with the cell's own, by the name of that seed's cell."""
    seeds = seeds_with(cell, machine.stored, together=machine.together)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rerun(cell, machine, folder)
        elsewhere = made_with(cell, folder) != made_with(cell, machine.stored)
        made, own = read_tables(folder), [cell._replace(seed=seed) for seed in seeds]
        return {cell_name(seed_cell): compare(seed_cell, stored.tables, made, elsewhere=elsewhere) for seed_cell in own}


def cell_name(cell: CellKey) -> str:
    """`mnist/sifu/0 target`."""
    return f"{cell.scenario}/{cell.variant}/{cell.seed} {cell.stop}"


def made_with(cell: CellKey, folder: Path) -> tuple[str, str, str]:
    """What rounding depends on, as far as it is known: device, torch and, on a GPU, the seeds that are run together."""
    path = cells_file(cell, folder)
    stamp = read_stamp(path)
    return stamp["device"], stamp["torch"], "" if stamp["device"] == "cpu" else path.parent.name


def overall(numbers: list[Compared]) -> Agreement:
    """How well a cell agrees: as its worst number does."""
    return worst(number.agreement for number in numbers)


def _print(cells: list[tuple[str, list[Compared]]]) -> None:
    """A line for each number that is not the same, and one for all that are."""
    table = Table("cell", "request", "number", "stored", "again", "agreement", title="Cells that were run again")
    for name, numbers in cells:
        same = sum(number.agreement == Agreement.SAME for number in numbers)
        table.add_row(name, "", f"{same} of {len(numbers)} numbers", "", "", Agreement.SAME.value)
        for number in numbers:
            if number.agreement != Agreement.SAME:
                word = number.agreement.value
                word = f"[bold]{word}[/bold]" if number.agreement == Agreement.DIFFERS else word
                table.add_row("", str(number.request), number.quantity, text(number.stored), text(number.again), word)
        table.add_section()
    Console(width=max(120, Console().width), markup=False, emoji=False).print(table)
