"""The Parquet tables of the report, made of those of the stages."""

from __future__ import annotations

import pyarrow as pa

from sifu.store.schemas import ALPHA, CELL, SCENARIO, SEED, STAGE_TABLES
from sifu.store.table import Column, Table

_TEXT, _INT, _REAL = pa.string(), pa.int64(), pa.float64()

STATISTICS = Table(
    "statistics",
    "every number of a cell over seeds",
    ("scenario", "variant", "stop", "request", "quantity", "subset"),
    (
        SCENARIO,
        *CELL[1:3],
        CELL[4],
        Column(
            "quantity",
            _TEXT,
            "a column of cells, a metric, done or refused (shares of seeds); rounds_to_scratch, steps_to_scratch: "
            "divided by scratch's; speed_up: scratch's client steps divided by these; no_cost: share of seeds with 0",
        ),
        Column("subset", _TEXT, "of a metric; empty otherwise"),
        Column("mean", _REAL, "mean over seeds"),
        Column("std", _REAL, "standard deviation over seeds", nullable=True),
        Column("low", _REAL, "lower end of the mean's 95% interval"),
        Column("high", _REAL, "upper end of it"),
        Column("t_low", _REAL, "lower end of Student's interval; null: a share, over 10 seeds, or one", nullable=True),
        Column("t_high", _REAL, "upper end of it", nullable=True),
        Column(
            "interval",
            _TEXT,
            "which interval low and high are: bootstrap | clopper_pearson (of a share of seeds) | range (of one "
            "seed, or of values that are not all finite)",
        ),
        Column("seeds", _INT, "how many seeds"),
    ),
)

BOUNDS = Table(
    "bounds",
    "how often Psi really is a bound, and by how much: the points of `alpha`, seed by seed",
    ("scenario", "change", "rule", "seed"),
    (
        SCENARIO,
        ALPHA.columns[1],
        Column("rule", _TEXT, "how Psi is counted: published | strict | released (only if it differs)"),
        SEED,
        Column("points", _INT, "measured pairs of round and client in which the client changed the training"),
        Column("held", _INT, "points with alpha <= Psi, up to rounding"),
        Column("worst", _REAL, "largest alpha / Psi"),
        Column("leavers", _INT, "clients measured, each forgotten alone; null: no SIFU, or changed", nullable=True),
        Column("hidden", _INT, "clients whose alpha the noise hides at SIFU's cut round", nullable=True),
        Column("idle", _INT, "hidden clients with alpha 0: they had not taken part yet", nullable=True),
    ),
)

TABLES = (*STAGE_TABLES, STATISTICS, BOUNDS)
