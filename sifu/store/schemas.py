"""Every Parquet table that a stage writes: columns, types, units, keys. The writer, the docs and the tests use them."""

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
_COUNTED = Column(
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
        Column("client", _INT, "number of the client, from 0; -1: the server"),
        Column("place", _INT, "number of the example at its client, from 0"),
        Column("row", _INT, "row of the example in the dataset's train set"),
        Column("label", _INT, "its class"),
    ),
)

CELLS = Table(
    "cells",
    "every planned run: how it ended, what it cost, what it promises",
    _CELL_KEY,
    (
        *CELL,
        Column("status", _TEXT, "done | not_reached (at max_rounds) | diverged | refused (method does not apply)"),
        Column("rounds", _INT, "aggregation rounds"),
        _COUNTED,
        Column("client_steps", _INT, "local optimiser steps, over all clients"),
        Column("comm_floats", _INT, "floats moved between server and clients, down and up"),
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
            "part of `client_steps`, but of costs over all requests",
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
        Column("everyone_psi", _REAL, "the same for all who have left so far, together", nullable=True),
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
            "whether these are of all who have left so far, and not of this request alone",
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

_TRIAL = (
    Column("place", _INT, "number of the trial in the order of the config, from 0"),
    Column("value", _TEXT, "tried value; values of several settings with a comma between them"),
    Column("seed", _INT, "seed of the federation, not one of the reported seeds"),
)

SEARCH = Table(
    "search",
    "settings of a method: every tried value, with the same budget; the run is the method's own training if it has "
    "one, otherwise its answer to the first request",
    ("scenario", "variant", "place", "seed"),
    (
        SCENARIO,
        CELL[1],
        Column("setting", _TEXT, "which setting of the method; several with a comma between them"),
        *_TRIAL,
        Column("status", _TEXT, "done (target reached) | not_reached (within the search's rounds) | diverged"),
        Column("rounds", _INT, "aggregation rounds, calibration included"),
        Column("client_steps", _INT, "local optimiser steps, over all clients, calibration included"),
        Column("accuracy", _REAL, "share of correct answers on the data of the clients that take part, at the end"),
        Column("chosen", pa.bool_(), "whether this value is used"),
    ),
)

SCENARIO_SEARCH = Table(
    "scenario_search",
    "settings of a scenario: every tried value, with the same budget, in training and in the first request",
    ("scenario", "setting", "place", "seed"),
    (
        SCENARIO,
        Column("setting", _TEXT, "which setting of the scenario; several with a comma between them"),
        *_TRIAL,
        Column("variant", _TEXT, "name in config/variants.yaml of the variant that answered the request"),
        Column("status", _TEXT, "done (target reached both times) | not_reached (one of them) | diverged (either)"),
        Column("trained", _TEXT, "how the training ended"),
        Column("training_rounds", _INT, "aggregation rounds of the training"),
        Column("rounds", _INT, "aggregation rounds of the request's recovery"),
        Column("client_steps", _INT, "local optimiser steps of both, over all clients"),
        Column("accuracy", _REAL, "share of correct answers on the data of the remaining clients, at the end"),
        Column("used", pa.bool_(), "whether this value is the scenario's own"),
        Column("chosen", pa.bool_(), "whether this value is the best by the search's rule"),
    ),
)

_ENDED = (
    Column("status", _TEXT, "done | not_reached (at max_rounds) | diverged"),
    Column("rounds", _INT, "aggregation rounds"),
    _COUNTED,
    Column("client_steps", _INT, "local optimiser steps, over all clients"),
    Column("cut_round", _INT, "round that the method went back to"),
    Column(
        "retain_accuracy",
        _REAL,
        "on the data of the remaining clients; null if the weights were not finite",
        nullable=True,
    ),
    Column("forget_accuracy", _REAL, "on the data of the clients forgotten so far", nullable=True),
)

SWEPT_NUMBERS = (  # of a certificate, as in `cells`
    *("covers", "claimed_epsilon", "claimed_delta", "actual_epsilon", "actual_delta"),
    *("strict_psi", "single_psi", "everyone_psi", "alpha", "spare_steps"),
)

SWEEP = Table(
    "sweep",
    "a method with several values of sigma, recovered to the target after each of the requests that were swept",
    ("scenario", "variant", "sigma", "seed", "request"),
    (
        *CELL[:2],
        Column("sigma", _REAL, "standard deviation of the noise on each weight"),
        SEED,
        CELL[4],
        *_ENDED,
        *(column for column in CELLS.columns if column.name in SWEPT_NUMBERS),
    ),
)

REQUEST_SETS = Table(
    "request_sets",
    "one request, for different sets of clients, recovered to the target",
    ("scenario", "variant", "set", "seed"),
    (
        *CELL[:2],
        Column("set", _INT, "which set: the forgotten class if clients hold one class each, else a random draw"),
        SEED,
        *_ENDED,
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

ALPHA = Table(
    "alpha",
    "the sensitivity of the training to clients, measured by training without them, and its bounds",
    ("scenario", "change", "seed", "request", "client", "round"),
    (
        SCENARIO,
        Column("change", _TEXT, "name of the change in `alpha_sweep`; empty: the scenario itself"),
        SEED,
        Column("request", _INT, "whose clients are left out, all together; 0: a single client"),
        Column("client", _INT, "number of the single client that is left out, from 0; -1: a request's clients"),
        Column("round", _INT, "rounds done: n of alpha(n, W)"),
        Column("alpha", _SHORT, "||theta^n with them - theta^n without them, their seats refilled||, the same draws"),
        Column("psi_published", _SHORT, "Psi(n, W) with the shares of all clients: of the worst client"),
        Column("psi_released", _SHORT, "the same here: the released code differs only after a request"),
        Column("psi_strict", _SHORT, "Psi(n, W) with refilled seats, of all these clients together"),
        Column("psi_empty_seats", _SHORT, "Psi(n, W) as if their seats stayed empty: no bound in early rounds"),
    ),
)

AUDIT = Table(
    "audit",
    "certificates against many trainings with and without the forgotten clients: the epsilon that counting proves",
    ("scenario", "variant", "who", "seed", "request"),
    (
        *CELL[:2],
        Column("who", _TEXT, "who is forgotten: `request` (all of its clients), or one client, such as `client 3`"),
        SEED,
        CELL[4],
        Column("clients", _INT, "clients forgotten so far, together: what the two worlds differ in"),
        Column("covers", _INT, "clients that the promise covers together; 1: each client alone", nullable=True),
        Column("claimed_epsilon", _REAL, "promised epsilon; null: nothing is promised", nullable=True),
        Column("delta", _REAL, "the promised delta, at which everything here is proved"),
        Column("strict_epsilon", _REAL, "epsilon at this delta, strictly counted; a median", nullable=True),
        Column("measured_epsilon", _REAL, "the same with the measured alpha in place of Psi", nullable=True),
        Column("models", _INT, "models of each world that were counted"),
        Column("statistic", _TEXT, "number of a model that the attack looks at, chosen on other models"),
        Column("hits", _INT, "models that the attack accepts in the world where it should"),
        Column("alarms", _INT, "models that it accepts in the other world"),
        Column("proved_epsilon", _REAL, "lower bound on epsilon, with 95% confidence (Clopper and Pearson)"),
        Column("most_provable", _REAL, "the epsilon that so many models can prove at most"),
        Column(
            "verdict",
            _TEXT,
            "refuted | not refuted | cannot tell (too few models) | exceeded, but not promised (to so many clients "
            "together) | nothing is promised",
        ),
    ),
)

NULL_SPACE = Table(
    "null_space",
    "the paper's appendix A: an under-determined linear regression, fine-tuned without an example and retrained",
    ("seed", "step"),
    (
        Column("seed", _INT, "seed of the examples"),
        Column("step", _INT, "steps of gradient descent of both models, without the example"),
        Column("null_space", _REAL, "distance of the two models in the null space of the remaining examples"),
        Column("span", _REAL, "distance of the two models in the span of the remaining examples"),
        Column("left_behind", _REAL, "how far the training had moved the model in that null space"),
    ),
)

STAGE_TABLES = (
    PARTITION,
    CELLS,
    CURVES,
    SENSITIVITY,
    SEARCH,
    SCENARIO_SEARCH,
    SWEEP,
    REQUEST_SETS,
    METRICS,
    EXAMPLES,
    VERIFICATION,
    ALPHA,
    AUDIT,
    NULL_SPACE,
)
