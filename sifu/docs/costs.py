"""The README's table: what methods cost on each dataset, and how well the clients were forgotten."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from sifu.docs.findings import unclipped
from sifu.docs.named import scenarios, variants
from sifu.plan.report_plan import ReportPlan
from sifu.plan.suite import kind_of_training
from sifu.replication.claims.stored_tables import DATASETS, SHOWN_ONLY, StoredTables, read_tables
from sifu.replication.published import Published
from sifu.report.grades import BELOW, BY_ACCURACY, FORGOTTEN, IN_PART, NOT_FORGOTTEN, UNKNOWN, Grade
from sifu.report.looked_good import cheapest
from sifu.report.standings import TRAIN_AGAIN, Standing, standings_of
from sifu.report.tables import markdown
from sifu.report.verdicts import verdicts

_ROWS = (
    *("scratch", "fine_tuning", "sifu", "sifu_released", "sifu_strict", "last_released", "fed_eraser_released"),
    "fed_eraser_searched",
)
_LOST = "†"
_SIGNS = {
    FORGOTTEN: "passes the twin test or is exact",
    BY_ACCURACY: "forgotten by accuracy alone",
    IN_PART: "in part",
    NOT_FORGOTTEN: "not forgotten",
    BELOW: "less accurate than scratch",
    UNKNOWN: "cannot tell",
}


def costs(root: Path, run: Published) -> str:
    """A row a method, a column a dataset: client steps relative to scratch's, and the leaderboard's grade.

    Bold is the leaderboard's winner among these methods: the cheapest that forgot, and reached the target in all seeds.
    """
    tables = read_tables(run.folder)
    ran = [name for name in (*DATASETS, *SHOWN_ONLY) if tables.ran(name, "scratch")]
    plan = _plan(root, run, ran)
    rows = standings_of(plan, _of_scenarios(tables, plan.titles))
    told, lost = {key: one for key, (one, _) in verdicts(plan, rows).items()}, unclipped(root, run)
    columns = {_title(plan, tables, name): _column(plan, rows, told, name, lost) for name in ran}
    table = pd.DataFrame({"method": [plan.labels[variant] for variant in _ROWS]} | columns)
    return markdown(table, "").strip()


def _plan(root: Path, run: Published, ran: Collection[str]) -> ReportPlan:
    """The scenarios that were `ran`, and others of the same kinds of training, whose twin tests speak for them."""
    places, methods = scenarios(root), variants(root)
    trainings = {name: kind_of_training(place) for name, place in places.items()}
    wanted = {trainings[name] for name in ran}
    return ReportPlan(
        str(run.folder),
        titles={name: place.label for name, place in places.items() if trainings[name] in wanted},
        labels={name: variant.label for name, variant in methods.items()},
        methods={name: variant.method for name, variant in methods.items()},
        trainings=trainings,
    )


def _of_scenarios(tables: StoredTables, names: Collection[str]) -> StoredTables:
    """The tables that methods are judged by, of some scenarios."""
    cells, metrics, forgetting = (
        table[table["scenario"].isin(list(names))] for table in (tables.cells, tables.metrics, tables.forgetting)
    )
    return replace(tables, cells=cells, metrics=metrics, forgetting=forgetting)


def _title(plan: ReportPlan, tables: StoredTables, scenario: str) -> str:
    seeds = tables.ran(scenario, "scratch")
    return f"{plan.titles[scenario]} ({seeds} {'seed' if seeds == 1 else 'seeds'})"


def _column(
    plan: ReportPlan,
    rows: list[Standing],
    told: Mapping[tuple[str, str], Grade],
    scenario: str,
    lost: Collection[tuple[str, str]],
) -> list[str]:
    """One dataset's cells; `lost`: the scenarios and variants whose cells have a mark where they lack seeds."""
    own = {row.variant: row for row in rows if row.scenario == scenario and row.variant in _ROWS}
    racing = [row for row in own.values() if plan.methods[row.variant] not in TRAIN_AGAIN]
    best, cells = cheapest(plan, rows, racing), []
    for variant in _ROWS:
        row, mark = own.get(variant), _LOST if (scenario, variant) in lost else ""
        text = _cell(row, told[scenario, variant], mark) if row else "not run"
        cells.append(f"**{text}**" if row and row is best else text)
    return cells


def _cell(row: Standing, grade: Grade, mark: str) -> str:
    """`70% ~`, with the number of seeds in which the target was reached where it was not in all, `70% ~ (3 of 5)`;
    without a cost where these are fewer than half.
    """
    seeds = f"{row.compared} of {row.seeds}"
    if 2 * row.compared < row.seeds:
        return f"{seeds} seeds{mark}"
    return f"{row.cost:.0%} {grade.sign}" + (f" ({seeds}{mark})" if row.compared < row.seeds else "")


def signs(root: Path, run: Published) -> str:
    """What the signs of the table mean; of the mark, where it has one."""
    words = ", ".join(f"{grade.sign} {text}" for grade, text in _SIGNS.items())
    lost = f". {_LOST} Made without the clipping of the paper's code: a model that explodes is lost"
    return f"{words}{lost if _LOST in costs(root, run) else ''}"
