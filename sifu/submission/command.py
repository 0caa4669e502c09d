"""`python -m sifu check-submission`: a line a check, then drawn cells that are run again."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from sifu.errors import SifuError, cut
from sifu.replication.claims.forgetting import beyond_scratch
from sifu.replication.claims.rounds import share_of_scratch
from sifu.replication.recheck.agreement import Agreement, Compared, text
from sifu.replication.recheck.command import Chosen, again, overall
from sifu.replication.recheck.rerun import Machine
from sifu.replication.recheck.stored_run import StoredRun, read_stored_run
from sifu.store.cell import CellKey
from sifu.submission.archive import unpack
from sifu.submission.checks import CHECKS, Unpacked, with_variant
from sifu.submission.manifest import read_manifest
from sifu.submission.pack import REFERENCE

OK, WEAK, FAILED = "ok", "weak", "FAILED"
_LONGEST = 500  # characters of a line
_ANY_SEED = 2**31
_BAD = (SifuError, OSError, ValueError, ArithmeticError, RecursionError)  # what a made-up table can lead to


class Outcome(NamedTuple):
    """One check: what it is called, how it ended, and a sentence."""

    check: str
    state: str
    words: str

    def line(self) -> str:
        """One line of plain signs, whatever a submission has put into its names."""
        signs = "".join(sign if sign.isprintable() else "?" for sign in cut(self.words, _LONGEST))
        return f"{self.state:<7} {self.check:<9} {signs}"


@dataclass(frozen=True)
class Drawn:
    """How many cells are run again, and which."""

    cells: int
    minutes: float
    seed: int | None = None  # None: another one each time, so that nobody knows beforehand

    def cells_of(self, variant: str, stored: StoredRun, machine: Machine, seed: int) -> list[CellKey]:
        """A sample of a variant's cells; of scratch one, as every cost is relative to it."""
        rows = stored.tables.cells
        own = replace(stored, tables=replace(stored.tables, cells=rows[rows["variant"] == variant]))
        return Chosen([], 1 if variant == REFERENCE else self.cells, self.minutes, seed).cells(own, machine)


def check_submission(path: Path, machine: Machine, drawn: Drawn, trusted: str = "") -> int:
    """Print a line a check; 1 where one failed, else 0. `machine.stored` is where the archive is unpacked."""
    with tempfile.TemporaryDirectory() as name:
        failed = 0
        for outcome in _outcomes(path, replace(machine, stored=Path(name)), drawn, trusted):
            print(outcome.line(), flush=True)
            failed += outcome.state == FAILED
    print("the submission passes" if not failed else f"the submission does not pass: {failed} failed")
    return 1 if failed else 0


def _outcomes(path: Path, machine: Machine, drawn: Drawn, trusted: str) -> Iterator[Outcome]:
    folder = machine.stored
    opened = _tried("archive", lambda: _unpacked(path, folder))
    yield opened
    if opened.state == FAILED:
        return
    try:
        found = Unpacked(folder, read_manifest(folder), machine, trusted)
    except _BAD as error:
        yield Outcome("manifest", FAILED, str(error))
        return
    states = []
    for name, check in CHECKS.items():
        outcome = _tried(name, lambda check=check: check(found))  # type: ignore[misc]
        states.append(outcome.state)
        yield outcome
    if FAILED in states:
        yield Outcome("cells", FAILED, "nothing was run again, as a check above failed")
        return
    yield from _cells(found, drawn)
    yield from (Outcome("result", OK, words) for words in _results(found))


def _tried(name: str, check: Callable[[], str]) -> Outcome:
    try:
        return Outcome(name, OK, check())
    except _BAD as error:
        return Outcome(name, FAILED, str(error))


def _unpacked(path: Path, folder: Path) -> str:
    sizes = unpack(path, folder)
    return f"{len(sizes)} files, {sum(sizes.values()) / 1e6:.1f} MB"


def _cells(found: Unpacked, drawn: Drawn) -> Iterator[Outcome]:
    """Drawn cells of the method and one of scratch, each compared with what was submitted."""
    seed = random.SystemRandom().randrange(_ANY_SEED) if drawn.seed is None else drawn.seed
    machine, stored = with_variant(found), read_stored_run(found.folder)
    for variant in (found.name, REFERENCE):
        try:
            cells = drawn.cells_of(variant, stored, machine, seed)
        except _BAD as error:
            yield Outcome("cells", FAILED, str(error))
            continue
        yield Outcome("cells", OK, f"{len(cells)} drawn of {variant} (--sample-seed {seed})")
        for cell in cells:
            yield from _again(cell, stored, machine)


def _again(cell: CellKey, stored: StoredRun, machine: Machine) -> Iterator[Outcome]:
    try:
        for name, numbers in again(cell, stored, machine).items():
            yield _compared(name, numbers)
    except _BAD as error:
        yield Outcome("cell", FAILED, f"{cell.scenario}/{cell.variant}/{cell.seed} cannot be run again: {error}")


def _compared(name: str, numbers: list[Compared]) -> Outcome:
    agreement = overall(numbers)
    state = {Agreement.DIFFERS: FAILED, Agreement.WITHIN_SEEDS: WEAK}.get(agreement, OK)
    worst = next((number for number in numbers if number.agreement is agreement), None)
    words = f"{name}: {len(numbers)} numbers, {agreement.value}"
    if worst is not None and agreement is not Agreement.SAME:
        words += f" (request {worst.request}, {worst.quantity}: {text(worst.stored)}, again {text(worst.again)})"
    return Outcome("cell", state, words)


def _results(found: Unpacked) -> Iterator[str]:
    """The numbers of the leaderboard, scenario by scenario."""
    for scenario in found.scenarios:
        cost = share_of_scratch(found.tables, scenario, found.name, "client_steps")
        known = beyond_scratch(found.tables, scenario, found.name)
        seeds = f"{len(cost)} of {found.tables.ran(scenario, found.name)} seeds reached the target"
        numbers = f"{cost.mean():.1%} of scratch's client steps, accuracy on forgotten clients {known.mean():+.3f}, "
        yield f"{scenario}: {numbers if len(cost) and len(known) else ''}{seeds}"
