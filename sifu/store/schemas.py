"""The Parquet tables from a partition to the verified models: columns, types, units, keys.

The writer, the docs and the tests use them. Tables of side experiments: experiment_schemas.py.
"""

from __future__ import annotations

import pyarrow as pa

from sifu.store.table import Column, Table

_TEXT, _INT, _REAL = pa.string(), pa.int64(), pa.float64()
_SHORT = pa.float32()  # for tables with many rows; trained weights have no more digits

SCENARIO = Column("scenario", _TEXT, "name in config/scenarios.yaml")
SEED = Column("seed", _INT, "seed of the federation")
_CLIENT = Column("client", _INT, "number of the client, from 0")
CELL = (
    SCENARIO,
    Column("variant", _TEXT, "name in config/variants.yaml; `train` for the training before the requests"),
    Column("stop", _TEXT, "when recovery ends: `target`, or `budget_25` for 25% of the training's client steps"),
    SEED,
    Column("request", _INT, "number of the request, from 1; 0 for the training"),
)
COUNTED = Column(
    "counted_rounds", _INT, "rounds as the method's own code counts them; the same where it has no count of its own"
)
_CELL_KEY = tuple(column.name for column in CELL)

PARTITION = Table(
    "partition",
    "which client holds which example",
    ("scenario", "seed", "client", "place"),
    (
        SCENARIO,
        SEED,
        Column("client", _INT, "number of the client, from 0; -1: the server; -2 - c: the twin of client c"),
        Column("place", _INT, "number of the example at its client, from 0"),
        Column("row", _INT, "row of the example in the dataset's train set"),
        Column("label", _INT, "its class"),
    ),
)

CELLS = Table(
    "cells",
    "every planned run: how it ended, what it cost, what it promises. What a promise is worth (`strict_psi` to "
    "`alpha`, `actual_...`, `spent_epsilon`, `group_epsilon`) is counted under `target`; a row of a budget has it "
    "where its promise is about the same model, and nulls elsewhere",
    _CELL_KEY,
    (
        *CELL,
        Column("status", _TEXT, "done | not_reached (at max_rounds) | diverged | refused (method does not apply)"),
        Column("rounds", _INT, "aggregation rounds"),
        COUNTED,
        Column(
            "client_steps", _INT, "local optimiser steps, over all clients; one with a Hessian's product counts two"
        ),
        Column("comm_floats", _INT, "floats moved between server and clients, down and up"),
        Column(
            "server_steps",
            _INT,
            "optimiser steps at the server, on its own examples; not part of any cost. Null: not counted yet",
            nullable=True,
            later=True,
        ),
        Column("server_floats", _INT, "floats that the server must have stored for the method", nullable=True),
        Column(
            "spares",
            _INT,
            "clients a round that are trained for the method's certificate and not averaged; the cost includes those "
            "of the recovery",
            nullable=True,
        ),
        Column(
            "spare_steps",
            _INT,
            "client steps of these clients in the training before the first request, on the row of that request; not "
            "part of `client_steps`, but of every cost compared with scratch's",
            nullable=True,
        ),
        Column("cut_round", _INT, "round that the method went back to", nullable=True),
        Column("branch", _INT, "request whose branch that round is on; 0: the training, -1: before it", nullable=True),
        Column("sigma", _REAL, "standard deviation of the noise on each weight", nullable=True),
        Column("psi", _REAL, "sensitivity of the model before noise, as the method counts it", nullable=True),
        Column(
            "strict_psi",
            _REAL,
            "the same, strictly: compared with the run without the request's clients, all of them together, in which "
            "the next in line take their seats (if every round adds noise: sigma times the ratio of all rounds)",
            nullable=True,
        ),
        Column("single_psi", _REAL, "the same for the worst client of the request alone", nullable=True),
        Column("everyone_psi", _REAL, "the same for all clients forgotten so far, together", nullable=True),
        Column("empty_psi", _REAL, "for comparison: the request's clients if their seats stayed empty", nullable=True),
        Column(
            "alpha",
            _REAL,
            "measured: distance of that model from the run without the request's clients, along the whole lineage; it "
            "assumes nothing on B",
            nullable=True,
        ),
        Column("psi_star", _REAL, "sensitivity that the noise can hide", nullable=True),
        Column("claimed_epsilon", _REAL, "promised epsilon", nullable=True),
        Column("claimed_delta", _REAL, "promised delta", nullable=True),
        Column("actual_epsilon", _REAL, "epsilon at the claimed delta, strictly counted (if B holds)", nullable=True),
        Column("actual_delta", _REAL, "delta at the claimed epsilon, strictly counted (if B holds)", nullable=True),
        Column("covers", _INT, "clients that the promise covers together; 1: each client alone", nullable=True),
        Column(
            "covers_everyone",
            pa.bool_(),
            "whether these are of all clients forgotten so far, and not of this request alone",
            nullable=True,
        ),
        Column("group", _INT, "clients forgotten so far, including this request's", nullable=True),
        Column(
            "spent_epsilon",
            _REAL,
            "if every round adds noise: epsilon of one client at the claimed delta, by a privacy accountant over all "
            "rounds with the sampling that was used",
            nullable=True,
        ),
        Column("group_epsilon", _REAL, "the same for all clients forgotten so far, as a group", nullable=True),
    ),
)

CURVES = Table(
    "curves",
    "accuracy during training and recovery",
    (*_CELL_KEY, "round"),
    (
        *CELL,
        Column("round", _INT, "rounds done"),
        Column("retain_accuracy", _REAL, "share of correct answers on the data of the clients that take part"),
        Column("forget_accuracy", _REAL, "the same on the forgotten clients; null if there are none", nullable=True),
    ),
)

SENSITIVITY = Table(
    "sensitivity",
    "how each sampled client changed the model, one row per round that it took part in",
    (*_CELL_KEY, "round", "client"),
    (
        *CELL,
        Column("round", _INT, "rounds done, including this one: n of Psi(n, c)"),
        _CLIENT,
        Column("distance", _REAL, "||theta^n - theta_c^n||: from the new global model to the client's own"),
        Column("update_norm", _REAL, "||theta_c^n - theta^{n-1}||: how far the client moved"),
        Column("increment", _REAL, "Delta_c of the round, as published (equation 5)"),
        Column("psi", _REAL, "Psi(n, c), as published (equation 6)"),
    ),
)

METRICS = Table(
    "metrics",
    "metrics of every model, on subsets of the data",
    (*_CELL_KEY, "metric", "subset"),
    (
        *CELL,
        Column("metric", _TEXT, "name in sifu/metrics: see the list below"),
        Column(
            "subset", _TEXT, "retain | forget (clients of this request) | forgotten (of all requests so far) | test"
        ),
        Column("value", _REAL, "measured value"),
    ),
)

EXAMPLES = Table(
    "examples",
    "metrics that have a value for each example; empty where no metric has",
    (*_CELL_KEY, "metric", "subset", "client", "place"),
    (
        *CELL,
        Column("metric", _TEXT, "see the metrics of the table `metrics`"),
        Column("subset", _TEXT, "retain | forget | forgotten | test"),
        Column("client", _INT, "number of the client, from 0; of the test set the number of a chunk"),
        Column("place", _INT, "number of the example at its client, or in its chunk, from 0"),
        Column("value", _SHORT, "the metric's value"),
    ),
)

VERIFICATION = Table(
    "verification",
    "did it delete my data? what each forgotten client finds with its trigger (scenarios with a backdoor)",
    (*_CELL_KEY, "client"),
    (
        *CELL,
        _CLIENT,
        Column("left_at", _INT, "number of the request that the client was forgotten in"),
        Column("examples", _INT, "held-out images with the trigger"),
        Column("successes", _INT, "how many of them the model gave the label of the trigger"),
        Column("alpha", _REAL, "probability of accusing an honest server that the client accepts"),
        Column(
            "chance", _REAL, "upper limit of the success rate of scratch in the same seed, if all clients were alike"
        ),
        Column("threshold", _INT, "number of successes from which on the client says that its data were not deleted"),
        Column("accused", pa.bool_(), "whether it does; the report asks for more successes, because clients differ"),
        Column("type_1", _REAL, "probability that it accuses an honest server, if all clients were alike"),
        Column("type_2", _REAL, "probability that it believes a server whose model answers at the observed rate"),
    ),
)
