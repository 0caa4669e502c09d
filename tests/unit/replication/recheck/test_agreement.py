"""Numbers of a cell that was run again, compared with those of its own seed and of the others."""

from __future__ import annotations

from dataclasses import fields, replace

import pandas as pd
import pytest

from sifu.replication.claims.stored_tables import StoredTables
from sifu.replication.recheck.agreement import PSI, STEPS, Agreement, compare, worst
from sifu.store.cell import CellKey
from sifu.store.schemas import CELLS, METRICS
from tests.outcomes import Outcome
from tests.small_replication import PLAIN, SEEDS, World

CELL = CellKey("s", "v", "target", 0, 1)


def tables(rounds: list[int], accuracy: list[float], status: str = "done") -> StoredTables:
    """A seed for each number."""
    keys = [CELL._asdict() | {"seed": seed} for seed in range(len(rounds))]
    cells = [
        key | {"status": status, "rounds": count, "client_steps": 10 * count}
        for key, count in zip(keys, rounds, strict=True)
    ]
    accurate = {"metric": "accuracy", "subset": "forget"}
    values = [key | accurate | {"value": value} for key, value in zip(keys, accuracy, strict=False)]
    frames = [
        pd.DataFrame(rows, columns=[column.name for column in table.columns])
        for rows, table in ((cells, CELLS), (values, METRICS))
    ]
    nothing = {field.name: pd.DataFrame() for field in fields(StoredTables)}
    return StoredTables(**nothing | dict(zip(("cells", "metrics"), frames, strict=True)))


def agreements(stored: StoredTables, again: StoredTables, *, elsewhere: bool = True) -> list[str]:
    """Of status, rounds and accuracy."""
    return [
        number.agreement.value
        for number in compare(CELL, stored, again, elsewhere=elsewhere)
        if number.quantity != STEPS
    ]


@pytest.mark.parametrize(
    ("rounds", "accuracy", "status", "expected"),
    [
        (100, 0.50004, "done", ["same", "same", "same"]),  # 0.5000 is printed
        (101, 0.501, "done", ["same", "close", "close"]),
        (
            120,
            0.519,
            "done",
            ["same", "close", "close"],
        ),  # an evaluation 20 rounds later; within 0.02 every round is evaluated
        (80, 0.481, "done", ["same", "close", "close"]),
        (121, 0.521, "done", ["same", "within seeds", "within seeds"]),
        (70, 0.4, "done", ["same", "within seeds", "within seeds"]),  # 100 - 30 and 0.5 - 0.1: just inside
        (69, 0.39, "done", ["same", "differs", "differs"]),
        (190, 0.8, "done", ["same", "within seeds", "within seeds"]),  # 160 + 30 and 0.7 + 0.1
        (191, 0.81, "done", ["same", "differs", "differs"]),
        (100, 0.5, "diverged", ["differs", "same", "same"]),
    ],
)
def test_its_own_seed_comes_before_the_others(rounds: int, accuracy: float, status: str, expected: list[str]) -> None:
    """Deviations: 30 of 100, 130, 160; 0.1 of 0.5, 0.6, 0.7 (a hair more: rounding)."""
    stored = tables([100, 130, 160], [0.5 - 1e-9, 0.6, 0.7 + 1e-9])
    again = tables([rounds], [accuracy], status)
    assert agreements(stored, again) == expected
    same_device = ["differs" if word == "within seeds" else word for word in expected]
    assert agreements(stored, again, elsewhere=False) == same_device, (
        "on the device of the stored cell other seeds do not count"
    )


def test_a_status_that_another_seed_has_is_within_seeds() -> None:
    stored = tables([100, 100], [0.5, 0.5])
    stored.cells.loc[1, "status"] = "not_reached"
    again = tables([100], [0.5], "not_reached")
    assert agreements(stored, again) == ["within seeds", "same", "same"]
    assert agreements(stored, again, elsewhere=False) == ["differs", "same", "same"]


def test_what_only_one_side_has_differs() -> None:
    full, bare = tables([100, 100], [0.5, 0.5]), tables([100, 100], [])
    assert agreements(full, bare) == ["same", "same", "differs"]
    assert agreements(bare, full) == ["same", "same", "differs"]
    assert agreements(full, tables([], [])) == ["differs"] * 3, "nothing was run again"
    assert worst([]) == Agreement.DIFFERS, "nothing is compared"


@pytest.mark.parametrize(
    ("column", "stored", "again", "expected"),
    [
        ("client_steps", 1000, 1000, "same"),
        ("client_steps", 999, 1000, "differs"),  # as many rounds: every step counts
        ("strict_psi", 0.5, 0.504, "close"),
        ("strict_psi", 0.5, 0.51, "differs"),
        ("strict_psi", 1e-6, 2e-6, "differs"),  # no matter how small
        ("strict_psi", float("inf"), 0.5, "differs"),  # what is stored does not widen its own room
    ],
)
def test_costs_and_sensitivities_are_compared(column: str, stored: float, again: float, expected: str) -> None:
    before, after = (tables([100], [0.5]) for _ in range(2))
    before.cells[column], after.cells[column] = stored, again
    found = {number.quantity: number.agreement.value for number in compare(CELL, before, after, elsewhere=False)}
    assert found[STEPS if column == "client_steps" else PSI] == expected


def test_a_later_evaluation_takes_more_steps_and_a_carried_table_has_no_sensitivity() -> None:
    stored, again = tables([100], [0.5]), tables([120], [0.5])
    again.cells["strict_psi"] = 0.5
    found = {number.quantity: number.agreement.value for number in compare(CELL, stored, again, elsewhere=False)}
    assert found == {"status": "same", "rounds": "close", STEPS: "close", "accuracy, forget": "same"}


@pytest.mark.parametrize("seed", SEEDS)
def test_scratch_cannot_pose_as_sifu(seed: int) -> None:
    """Scratch takes 100 rounds, SIFU 10, 70 and 130: scratch's lie in SIFU's range, yet are not those of its seed."""
    stored = World(("mnist",), {("mnist", "sifu"): Outcome(10, 0.02, spread=60)}, marks=PLAIN).tables()
    cells, metrics = (table[table["variant"] == "scratch"] for table in (stored.cells, stored.metrics))
    again = replace(stored, cells=cells.assign(variant="sifu"), metrics=metrics.assign(variant="sifu"))
    cell = CellKey("mnist", "sifu", "target", seed, 1)
    other_device = compare(cell, stored, again, elsewhere=True)
    assert worst(number.agreement for number in other_device) in (Agreement.WITHIN_SEEDS, Agreement.DIFFERS)
    assert all(
        number.agreement.value in ("within seeds", "differs") for number in other_device if number.quantity == "rounds"
    )
    same_device = compare(cell, stored, again, elsewhere=False)
    assert worst(number.agreement for number in same_device) == Agreement.DIFFERS
