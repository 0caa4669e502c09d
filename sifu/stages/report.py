"""report: all tables -> statistics over seeds, tables for people, figures. Reads Parquet, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from sifu.codehash import code_hash
from sifu.provenance import provenance
from sifu.report import figures, statistics, tables
from sifu.report.methods import methods_page
from sifu.schemas import ALPHA, CELLS, METRICS, NULL_SPACE, SEARCH, STATISTICS, Table
from sifu.store import read_table, write_figure, write_table, write_text

CAPTIONS = {
    "headline": "After each request, recovered to the target accuracy: mean over seeds and its 95% bootstrap interval "
    "(with few seeds such intervals are too narrow). `cost / scratch`: client steps, calibration included, over "
    "scratch's. `claimed delta` is the method's own, at its claimed epsilon; "
    "`actual delta` counts all who leave with this request together, with the weights that the aggregation used, and "
    "the noise exactly; it holds if the contraction B does (table `bounds`).",
    "budgets": "Absolute gaps of accuracy to scratch (run to its own target) when recovery may take a share of the "
    "training's client steps: mean over seeds and its 95% bootstrap interval.",
    "certificates": "What is promised and what holds, after each request to the target: means over seeds. `actual`: "
    "all who leave with this request together, conditional on who was sampled; for noise in every round without any "
    "assumption on the loss, otherwise if B holds. `spent`: by a privacy accountant over all rounds, with the sampling "
    "that was used, at the claimed delta.",
    "search": "Values that were tried for a setting, on seeds that are not reported, each with the same budget of "
    "rounds: those of the target, or the accuracy where it was not reached.",
    "bounds": "Is Psi a bound? The share of measured points (round, client, seed) where alpha(n, c) <= Psi(n, c) with "
    "the scenario's B, and the worst ratio.",
}


def run_report(
    results: Path,
    folder: Path,
    titles: dict[str, str],
    blocks: list[str],
    labels: dict[str, str],
    variants: dict[str, list[str]] | None = None,
    searches: Sequence[tuple[str, str, str]] = (),
) -> None:
    """Writes statistics, tables and figures of a plan (scenarios and variants with their names) to `folder`.

    `variants` are those of each scenario (all, if not given), `searches` names the scenario, variant and block of each.
    """
    scenarios = list(titles)
    per_variant = [(s, v, b) for s in scenarios for v in (variants or {}).get(s, labels) for b in blocks]
    cells = _all([results / "unlearn" / s / v / b / "cells.parquet" for s, v, b in per_variant], CELLS)
    metrics = _all([results / "verify" / s / b / "metrics.parquet" for s in scenarios for b in blocks], METRICS)
    alpha = _all([results / "alpha" / s / b / "alpha.parquet" for s in scenarios for b in blocks], ALPHA)
    trials = _all([results / "search" / s / v / b / "search.parquet" for s, v, b in searches], SEARCH)
    null_space = read_table(results / "null_space" / "null_space.parquet", NULL_SPACE)
    labels = tables.with_spent_epsilon(labels, cells)
    numbers = statistics.over_seeds(statistics.long_form(cells, metrics))
    stamp = provenance("report", {"scenarios": scenarios, "blocks": blocks}, code_hash("sifu.stages.report"), "cpu")
    write_table(folder / "tables" / "statistics.parquet", STATISTICS, numbers, stamp)
    write_text(folder / "tables" / "statistics.csv", numbers.to_csv(index=False))
    _write_people_table(folder / "tables", "headline", tables.headline(numbers, labels))
    _write_people_table(folder / "tables", "budgets", tables.budgets(numbers, labels))
    _write_people_table(folder / "tables", "certificates", tables.certificates(numbers, labels))
    _write_people_table(folder / "tables", "search", tables.searches(trials, labels))
    _write_people_table(folder / "tables", "bounds", statistics.bounds_that_hold(alpha))
    write_text(folder / "tables" / "methods.md", methods_page())
    drawings: dict[str, Callable[[], Figure]] = {
        "requests": lambda: figures.requests_figure(numbers, labels, titles),
        "budgets": lambda: figures.budgets_figure(numbers, labels, titles),
        "alpha": lambda: figures.alpha_figure(alpha, titles),
        "null_space": lambda: figures.null_space_figure(null_space),
    }
    for name, draw in drawings.items():
        write_figure(folder / "figures" / name, draw())


def _all(paths: list[Path], table: Table) -> pd.DataFrame:
    if not paths:
        return pd.DataFrame(columns=[column.name for column in table.columns])
    return pd.concat([read_table(path, table) for path in paths], ignore_index=True)


def _write_people_table(folder: Path, name: str, table: pd.DataFrame) -> None:
    write_text(folder / f"{name}.csv", table.to_csv(index=False))
    write_text(folder / f"{name}.md", tables.markdown(table, CAPTIONS[name]))
