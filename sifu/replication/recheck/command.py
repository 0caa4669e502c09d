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
from sifu.replication.claims.tables import read_tables
from sifu.replication.recheck.agreement import Compared, Verdict, compare, text, worst
from sifu.replication.recheck.pace import pace_of
from sifu.replication.recheck.rerun import Machine, rerun, seeds_with
from sifu.replication.recheck.sample import sample_cells
from sifu.replication.recheck.stored import Stored, named_cell, read_stored
from sifu.store.cell import CellKey, cells_file
from sifu.store.parquet import read_stamp

_WEAK = "within seeds: no closer than another seed would be, as rounding of another device, torch or block may make it"


@dataclass(frozen=True)
class Chosen:
    """Which cells: those that are named, else a sample."""

    names: list[str]
    count: int
    minutes: float
    sample_seed: int

    def cells(self, stored: Stored, machine: Machine) -> list[CellKey]:
        if self.names:
            return [named_cell(name, stored) for name in self.names]
        kind = choose_device(machine.device).type
        pace = partial(pace_of, machine.config, data_root=machine.data_root, kind=kind)
        return sample_cells(stored, self.count, self.minutes, self.sample_seed, pace, together=machine.together)


def verify_paper(chosen: Chosen, machine: Machine) -> int:
    """1 where a number of a cell differs from the stored ones (agreement.py says when), else 0."""
    stored = read_stored(machine.stored)
    found: list[tuple[str, list[Compared]]] = []
    for cell in chosen.cells(stored, machine):
        print(f"again: {_name(cell)}", file=sys.stderr)
        for name, numbers in _again(cell, stored, machine).items():
            print(f"{name}: {_overall(numbers).value}", file=sys.stderr)
            found.append((name, numbers))
    _print(found)
    counts = Counter(_overall(numbers) for _, numbers in found)
    said = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict)
    print(f"cells run again, beside those of {machine.stored}: {said}")
    if counts[Verdict.WITHIN_SEEDS]:
        print(_WEAK)
    return 1 if counts[Verdict.DIFFERS] else 0


def _again(cell: CellKey, stored: Stored, machine: Machine) -> dict[str, list[Compared]]:
    """The numbers of every seed that is run with the cell's, by the name of its own cell."""
    seeds = seeds_with(cell, machine.stored, together=machine.together)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rerun(cell, machine, folder)
        elsewhere = made_with(cell, folder) != made_with(cell, machine.stored)
        again, own = read_tables(folder), [cell._replace(seed=seed) for seed in seeds]
        return {_name(one): compare(one, stored.tables, again, elsewhere=elsewhere) for one in own}


def _name(cell: CellKey) -> str:
    return f"{cell.scenario}/{cell.variant}/{cell.seed} {cell.stop}"


def made_with(cell: CellKey, folder: Path) -> tuple[str, str, str]:
    """What rounding depends on, as far as it is known: on a GPU also on the seeds that are run together."""
    path = cells_file(cell, folder)
    stamp = read_stamp(path)
    return stamp["device"], stamp["torch"], "" if stamp["device"] == "cpu" else path.parent.name


def _overall(numbers: list[Compared]) -> Verdict:
    return worst(number.verdict for number in numbers)


def _print(found: list[tuple[str, list[Compared]]]) -> None:
    """A line for each number that is not the same, and one for all that are."""
    table = Table("cell", "request", "number", "stored", "again", "verdict", title="Cells that were run again")
    for name, numbers in found:
        same = sum(number.verdict == Verdict.SAME for number in numbers)
        table.add_row(name, "", f"{same} of {len(numbers)} numbers", "", "", Verdict.SAME.value)
        for one in numbers:
            if one.verdict != Verdict.SAME:
                verdict = f"[bold]{one.verdict.value}[/bold]" if one.verdict == Verdict.DIFFERS else one.verdict.value
                table.add_row("", str(one.request), one.quantity, text(one.stored), text(one.again), verdict)
        table.add_section()
    Console(width=max(120, Console().width)).print(table)
