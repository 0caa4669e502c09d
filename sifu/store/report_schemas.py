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
        Column("low", _REAL, "lower end of the 95% bootstrap interval of the mean"),
        Column("high", _REAL, "upper end of it"),
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

FRONTIER = Table(
    "frontier",
    "what every certificate costs, and what it is worth: the worst seed and request of each variant",
    ("scenario", "variant", "sigma"),
    (
        SCENARIO,
        CELL[1],
        Column("sigma", _REAL, "noise of a sigma sweep; null: the variant with its own", nullable=True),
        Column("claimed_epsilon", _REAL, "promised epsilon"),
        Column("claimed_delta", _REAL, "promised delta"),
        Column(
            "promise",
            _TEXT,
            "for whom the claim holds: request (all of its clients together) | client (each alone) | none | unknown "
            "(rows that lack what it takes)",
        ),
        Column("epsilon", _REAL, "real epsilon at delta = 0.01, for the clients of a request together", nullable=True),
        Column("epsilon_client", _REAL, "the same for the worst client of a request alone", nullable=True),
        Column("epsilon_everyone", _REAL, "the same for all clients forgotten so far", nullable=True),
        Column("epsilon_measured", _REAL, "that of the request, from the measured distance alpha", nullable=True),
        Column("cost", _REAL, "client steps of all requests over scratch's, mean over seeds", nullable=True),
        Column("cost_low", _REAL, "lower end of its 95% t interval", nullable=True),
        Column("cost_high", _REAL, "upper end of it", nullable=True),
        Column("seeds", _INT, "how many seeds were run"),
        Column("compared", _INT, "seeds in which the variant and scratch reached every target"),
    ),
)

TABLES = (*STAGE_TABLES, STATISTICS, BOUNDS, FRONTIER)
