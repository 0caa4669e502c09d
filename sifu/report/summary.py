"""What has been trained so far, as a table for people."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table

from sifu.config.run import Run
from sifu.errors import StoreError
from sifu.plan.report_plan import ReportPlan
from sifu.plan.suite import Suite
from sifu.report.in_short import in_short
from sifu.report.results import Results
from sifu.store.parquet import read_table
from sifu.store.paths import report_folder, report_page, stage_folder, tables_folder
from sifu.store.report_schemas import STATISTICS
from sifu.store.schemas import CELLS, CURVES


def print_summary(run: Run) -> None:
    """One row a scenario of the config: seeds, how they ended, rounds, client steps, final accuracy."""
    folders = [
        stage_folder(run.results, "train", name, block)
        for name in run.scenarios
        for block in Suite(run, {}, {}, {}).blocks_of(name)
    ]
    done = [folder for folder in folders if (folder / "cells.parquet").exists()]
    if not done:
        raise StoreError(f"no results of this config under {run.results}: run make (or snakemake --cores 4) first")
    cells = pd.concat(read_table(folder / "cells.parquet", CELLS) for folder in done)
    curves = pd.concat(read_table(folder / "curves.parquet", CURVES) for folder in done)
    last = curves.sort_values("round").groupby(["scenario", "seed"])["retain_accuracy"].last().reset_index()
    table = Table("scenario", "seeds", "status", "rounds", "client steps", "accuracy", title="Training: mean (range)")
    for name, group in cells.merge(last, on=["scenario", "seed"]).groupby("scenario"):
        status = ", ".join(f"{count} {value}" for value, count in group["status"].value_counts().items())
        spread = [_spread(group[column]) for column in ("rounds", "client_steps", "retain_accuracy")]
        table.add_row(str(name), str(len(group)), status, *spread)
    Console(width=max(100, Console().width), markup=False, emoji=False).print(table)
    _print_headline(report_folder(run.results))
    print(f"tables: {Path(run.results)}/<stage>/<scenario>/[<variant>/]<block>/*.parquet (columns: docs/results.md)")


def print_findings(plan: ReportPlan, tables: str) -> None:
    """The run in six lines, and the file to open; `tables` is the command that prints all tables."""
    report = report_folder(plan.results)
    statistics = read_table(tables_folder(report) / "statistics.parquet", STATISTICS)
    for line in in_short(Results(plan), statistics):
        print(f"- {line}")
    print(f"open {report_page(report)} (all tables: {tables})")


# columns that only the report has room for
_IN_THE_REPORT = ("floor", "steps at the server", "claimed epsilon", "actual epsilon")


def _print_headline(report: Path) -> None:
    """The report's headline, a table a scenario, and where the rest is."""
    path = tables_folder(report) / "headline.csv"
    if not path.exists():
        return
    try:
        rows = pd.read_csv(path, dtype=str, keep_default_na=False)
        rows = rows.map(lambda text: text.split(" [")[0])  # the intervals are in the report
    except (OSError, ValueError):
        rows = pd.DataFrame()
    if not {"scenario", "floor"} <= set(rows.columns):
        raise StoreError(f"{path} is not the report's table: make the report again")
    for scenario, group in rows.groupby("scenario", sort=False):
        shown = group.drop(columns=["scenario", *_IN_THE_REPORT], errors="ignore")
        heads = [name.replace(" ", "\n") for name in shown.columns]  # narrow columns leave the methods' names room
        table = Table(*heads, title=f"Unlearning in {scenario}, to the target accuracy: means")
        for row in shown.itertuples(index=False):
            table.add_row(*row)
        Console(width=max(150, Console().width), markup=False, emoji=False).print(table)
    print(f"report: {report}/report.html (tables and figures in the same folder)")


def _spread(values: pd.Series) -> str:
    """Mean and range over seeds."""
    digits = 3 if values.dtype.kind == "f" else 0
    return f"{values.mean():.{digits}f} ({values.min():.{digits}f}-{values.max():.{digits}f})"
