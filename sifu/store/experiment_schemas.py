"""The Parquet tables of searches and side experiments: columns, types, units, keys."""

from __future__ import annotations

import pyarrow as pa

from sifu.store.schemas import CELL, CELLS, COUNTED, SCENARIO, SEED
from sifu.store.table import Column, Table

_TEXT, _INT, _REAL = pa.string(), pa.int64(), pa.float64()
_SHORT = pa.float32()  # for tables with many rows; trained weights have no more digits

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
        Column(
            "forget_accuracy",
            _REAL,
            "the same on the data of the request's clients; null: nobody was forgotten, or not measured",
            nullable=True,
            later=True,
        ),
        Column("retrained_accuracy", _REAL, "the same of scratch, with the same seed", nullable=True, later=True),
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
    COUNTED,
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

SETTING_SWEEP = Table(
    "setting_sweep",
    "a method with several values of one of its settings: the first request, before and after its recovery",
    ("scenario", "variant", "setting", "value", "seed"),
    (
        *CELL[:2],
        Column("setting", _TEXT, "which setting of the method"),
        Column("value", _REAL, "its value"),
        SEED,
        *_ENDED,
        Column("server_steps", _INT, "optimiser steps at the server"),
        Column(
            "start_retain_accuracy",
            _REAL,
            "as retain_accuracy, of the model that the recovery started from",
            nullable=True,
        ),
        Column("start_forget_accuracy", _REAL, "as forget_accuracy, of that model", nullable=True),
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

ATLAS = Table(
    "atlas",
    "what trainings of one federation remember of each client: with it, and again without it, with the same draws and "
    "as many rounds; a seed in which one of the two diverged has no row",
    ("scenario", "client", "seed"),
    (
        SCENARIO,
        Column("client", _INT, "number of the client that is left out, from 0"),
        Column("seed", _INT, "seed of the training; the clients' data are the same for all"),
        Column("memorisation", _REAL, "mean margin on the client's own data, with it minus without it"),
        Column("accuracy_drop", _REAL, "the same of accuracy"),
        Column("alpha", _REAL, "distance of the two models"),
        Column("psi_published", _REAL, "Psi of the client at the end of the training, with the shares of all clients"),
        Column("psi_strict", _REAL, "Psi with refilled seats"),
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
