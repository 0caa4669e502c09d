"""What has been trained so far, as a table for people."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table

from sifu.errors import StoreError
from sifu.schemas import CELLS, CURVES
from sifu.store import read_table


def print_summary(results: Path) -> None:
    """One row a scenario: seeds, how they ended, rounds, client steps, final accuracy."""
    files = sorted(results.glob("train/*/*/cells.parquet"))
    if not files:
        raise StoreError(f"no results under {results}: run make (or snakemake --cores 4) first")
    cells = pd.concat(read_table(file, CELLS) for file in files)
    curves = pd.concat(read_table(file.with_name("curves.parquet"), CURVES) for file in files)
    last = curves.sort_values("round").groupby(["scenario", "seed"])["retain_accuracy"].last().reset_index()
    table = Table("scenario", "seeds", "status", "rounds", "client steps", "retain accuracy", title="Training")
    for name, group in cells.merge(last, on=["scenario", "seed"]).groupby("scenario"):
        status = ", ".join(f"{count} {value}" for value, count in group["status"].value_counts().items())
        spread = [_spread(group[column]) for column in ("rounds", "client_steps", "retain_accuracy")]
        table.add_row(str(name), str(len(group)), status, *spread)
    Console().print(table)
    print(f"tables: {results}/<stage>/<scenario>/<block>/*.parquet (columns: docs/results.md)")


def _spread(values: pd.Series) -> str:
    """Mean and range over seeds."""
    digits = 3 if values.dtype.kind == "f" else 0
    return f"{values.mean():.{digits}f} ({values.min():.{digits}f} to {values.max():.{digits}f})"
