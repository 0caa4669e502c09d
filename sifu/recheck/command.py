"""`python -m sifu verify-paper`: draw cells, run them again, print a table."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sifu.cell import Wanted
from sifu.claims.tables import read_tables
from sifu.recheck.agreement import Compared, compare
from sifu.recheck.rerun import Machine, rerun
from sifu.recheck.sample import sample_cells
from sifu.recheck.stored import Stored, named_cell, read_stored, round_seconds


@dataclass(frozen=True)
class Chosen:
    """Which cells: those that are named, else a sample."""

    names: list[str]
    count: int
    minutes: float
    sample_seed: int

    def cells(self, stored: Stored, machine: Machine) -> list[Wanted]:
        if self.names:
            return [named_cell(name, stored) for name in self.names]
        cost = partial(round_seconds, machine.config, data_root=machine.data_root)
        return sample_cells(stored, self.count, self.minutes, self.sample_seed, cost)


def verify_paper(chosen: Chosen, machine: Machine) -> int:
    """0 where every cell agrees with the stored ones (sifu/recheck/agreement.py says when), else 1."""
    stored = read_stored(machine.stored)
    found: list[tuple[Wanted, list[Compared]]] = []
    for cell in chosen.cells(stored, machine):
        print("again: " + " ".join(f"{key} {value}" for key, value in cell._asdict().items()), file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            rerun(cell, machine, Path(folder))
            found.append((cell, compare(cell, stored.tables, read_tables(Path(folder)))))
    _print(found)
    wrong = sum(any(not number.agrees for number in numbers) for _, numbers in found)
    print(f"{len(found) - wrong} of {len(found)} cells agree with those of {machine.stored}")
    return 1 if wrong else 0


def _print(found: list[tuple[Wanted, list[Compared]]]) -> None:
    table = Table("cell", "number", "stored", "again", "agrees within", "verdict", title="Cells that were run again")
    for cell, numbers in found:
        name = f"{cell.scenario}/{cell.variant}/{cell.seed} {cell.stop}, request {cell.request}"
        for number in numbers:
            ends = "a stored seed's" if number.low is None else f"[{number.low:.4g}, {number.high:.4g}]"
            verdict = "agrees" if number.agrees else "[bold]DISAGREES[/bold]"
            table.add_row(name, number.quantity, _text(number.stored), _text(number.again), ends, verdict)
            name = ""
        table.add_section()
    Console(width=max(120, Console().width)).print(table)


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
