"""report: all tables -> statistics over seeds, tables for people, figures. Reads Parquet, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from sifu.codehash import code_hash
from sifu.provenance import provenance
from sifu.report import figures, statistics, tables
from sifu.schemas import ALPHA, CELLS, METRICS, STATISTICS, Table
from sifu.store import read_table, write_figure, write_table, write_text

CAPTIONS = {
    "headline": "After each request, recovered to the target accuracy: mean over seeds and its 95% bootstrap interval "
    "(with few seeds such intervals are too narrow). `claimed delta` is the method's own, at its claimed epsilon; "
    "`actual delta` counts all who leave with this request together, with the weights that the aggregation used, and "
    "the noise exactly; it holds if the contraction B does (table `bounds`).",
    "budgets": "Absolute gaps of accuracy to scratch (run to its own target) when recovery may take a share of the "
    "training's client steps: mean over seeds and its 95% bootstrap interval.",
    "bounds": "Is Psi a bound? The share of measured points (round, client, seed) where alpha(n, c) <= Psi(n, c) with "
    "the scenario's B, and the worst ratio.",
}


def run_report(results: Path, folder: Path, titles: dict[str, str], blocks: list[str], labels: dict[str, str]) -> None:
    """Writes statistics, tables and figures of a plan (scenarios and variants with their names) to `folder`."""
    scenarios = list(titles)
    per_variant = [(s, v, b) for s in scenarios for v in labels for b in blocks]
    cells = _all([results / "unlearn" / s / v / b / "cells.parquet" for s, v, b in per_variant], CELLS)
    metrics = _all([results / "verify" / s / b / "metrics.parquet" for s in scenarios for b in blocks], METRICS)
    alpha = _all([results / "alpha" / s / b / "alpha.parquet" for s in scenarios for b in blocks], ALPHA)
    numbers = statistics.over_seeds(statistics.long_form(cells, metrics))
    stamp = provenance("report", {"scenarios": scenarios, "blocks": blocks}, code_hash("sifu.stages.report"), "cpu")
    write_table(folder / "tables" / "statistics.parquet", STATISTICS, numbers, stamp)
    write_text(folder / "tables" / "statistics.csv", numbers.to_csv(index=False))
    _write_people_table(folder / "tables", "headline", tables.headline(numbers, labels))
    _write_people_table(folder / "tables", "budgets", tables.budgets(numbers, labels))
    _write_people_table(folder / "tables", "bounds", statistics.bounds_that_hold(alpha))
    drawings: dict[str, Callable[[], Figure]] = {
        "requests": lambda: figures.requests_figure(numbers, labels, titles),
        "budgets": lambda: figures.budgets_figure(numbers, labels, titles),
        "alpha": lambda: figures.alpha_figure(alpha, titles),
    }
    for name, draw in drawings.items():
        write_figure(folder / "figures" / name, draw())


def _all(paths: list[Path], table: Table) -> pd.DataFrame:
    return pd.concat([read_table(path, table) for path in paths], ignore_index=True)


def _write_people_table(folder: Path, name: str, table: pd.DataFrame) -> None:
    write_text(folder / f"{name}.csv", table.to_csv(index=False))
    write_text(folder / f"{name}.md", tables.markdown(table, CAPTIONS[name]))
