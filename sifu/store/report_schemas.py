"""The Parquet tables of the report, made of those of the stages."""

from __future__ import annotations

import pyarrow as pa

from sifu.store.experiment_schemas import ALPHA
from sifu.store.schemas import CELL, SCENARIO, SEED
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
            "divided by scratch's, steps with those of spare clients in the training; speed_up: scratch's steps over "
            "these; no_cost: share of seeds with 0; what promises under budgets are worth: where all seeds have it",
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
    ("scenario", "change", "request", "rule", "seed"),
    (
        SCENARIO,
        ALPHA.columns[1],
        ALPHA.columns[3],
        Column("rule", _TEXT, "how Psi is counted: published | strict | empty_seats | released (only if it differs)"),
        SEED,
        Column("points", _INT, "measured rounds (of each client) in which the training was not the same without them"),
        Column("held", _INT, "points with alpha <= Psi, up to rounding"),
        Column("worst", _REAL, "largest alpha / Psi"),
        Column("forgotten", _INT, "clients measured, each forgotten alone; null: no SIFU, or changed", nullable=True),
        Column("hidden", _INT, "clients whose alpha the noise hides at SIFU's cut round", nullable=True),
        Column("idle", _INT, "hidden clients with alpha 0: they had not taken part yet", nullable=True),
    ),
)

POINT_COLUMNS = {  # what a ratio means at a readable point -> name of its columns
    "epsilon at delta = 1e-2": "epsilon_2",
    "epsilon at delta = 1e-5": "epsilon_5",
    "delta at epsilon = 1": "delta_1",
    "delta at epsilon = 10": "delta_10",
}
_OVER_SEEDS = {"median": "at the median ratio over seeds", "worst": "at the largest ratio of a seed"}

CERTIFICATES = Table(
    "certificates",
    "what every promise is worth after each request to the target, by several counts of what has to be hidden",
    ("scenario", "variant", "request", "count"),
    (
        SCENARIO,
        CELL[1],
        CELL[4],
        Column(
            "count",
            _TEXT,
            "whose effect is counted: claimed (the promise itself) | one client (the worst of the request) | request "
            "(its clients together) | everyone (all clients forgotten so far) | measured (the request, by training "
            "without it)",
        ),
        Column("own", pa.bool_(), "whether the promise is about this count"),
        Column("seeds", _INT, "how many seeds"),
        Column("claimed_epsilon", _REAL, "promised epsilon (median over seeds)"),
        Column("claimed_delta", _REAL, "promised delta (median over seeds)", nullable=True),
        Column("sigma", _REAL, "standard deviation of the noise on each weight (median over seeds)", nullable=True),
        Column("median_ratio", _REAL, "sensitivity divided by sigma, median over seeds", nullable=True),
        Column("worst_ratio", _REAL, "the same in the worst seed", nullable=True),
        *(
            Column(f"{which}_{name}", _REAL, f"{text}, {words}", nullable=True)
            for which, words in _OVER_SEEDS.items()
            for text, name in POINT_COLUMNS.items()
        ),
        Column("kept", _REAL, "share of seeds in which this count is within the promise", nullable=True),
        Column("kept_low", _REAL, "lower end of its 95% interval (Clopper and Pearson)", nullable=True),
        Column("kept_high", _REAL, "upper end of it", nullable=True),
        Column(
            "spent_epsilon",
            _REAL,
            "what noise in every round spent for one client by an accountant, largest of a seed; it decides `kept`",
            nullable=True,
        ),
    ),
)

FRONTIER = Table(
    "frontier",
    "what every certificate costs, and what it is worth: the worst seed and request of each variant",
    ("scenario", "variant", "noise"),
    (
        SCENARIO,
        CELL[1],
        Column("noise", _TEXT, "sigma of a sweep as text; `its own`: the variant with its own"),
        Column("sigma", _REAL, "the same as a number; null: the variant with its own", nullable=True),
        Column("claimed_epsilon", _REAL, "promised epsilon"),
        Column("claimed_delta", _REAL, "promised delta"),
        Column(
            "promise",
            _TEXT,
            "for whom the claim holds: request (all of its clients together) | measured (the same by alpha, though Psi "
            "is refuted) | client (each alone) | none | unknown (rows that lack what it takes)",
        ),
        Column(
            "epsilon",
            _REAL,
            "real epsilon at delta = 0.01, for the clients of a request together; null also for noise in every round "
            "that claims another delta",
            nullable=True,
        ),
        Column("epsilon_client", _REAL, "the same for the worst client of a request alone", nullable=True),
        Column("epsilon_everyone", _REAL, "the same for all clients forgotten so far", nullable=True),
        Column("epsilon_measured", _REAL, "that of the request, from the measured distance alpha", nullable=True),
        *(
            Column(name, _REAL, f"{text}, for those for whom the claim holds", nullable=True, later=True)
            for text, name in POINT_COLUMNS.items()
            if name != "epsilon_2"
        ),
        Column(
            "cost",
            _REAL,
            "client steps of all requests, and of spare clients in the training, over scratch's, mean over seeds",
            nullable=True,
        ),
        Column("cost_low", _REAL, "lower end of its 95% t interval", nullable=True),
        Column("cost_high", _REAL, "upper end of it", nullable=True),
        Column("seeds", _INT, "how many seeds were run"),
        Column("compared", _INT, "seeds in which the variant and scratch reached every target"),
    ),
)
