"""The Parquet tables of the stage `forgetting`: what many models in two worlds say of it."""

from __future__ import annotations

import pyarrow as pa

from sifu.store.schemas import CELL, SCENARIO
from sifu.store.table import Column, Table

_TEXT, _INT, _REAL = pa.string(), pa.int64(), pa.float64()
_MODELS = Column("models", _INT, "models a world")


def _counts(name: str, who: str, whom: str, *, later: bool) -> tuple[Column, ...]:
    """Hits and alarms of an attack at both low rates."""
    return tuple(
        Column(f"{name}_{kind}_{rate}", _INT, meaning.format(percent), nullable=True, later=later)
        for rate, percent in (("1", "1%"), ("01", "0.1%"))
        for kind, meaning in (
            ("hits", f"{who} that it finds, at most {{}} of {whom}"),
            ("alarms", f"{whom} that it takes for them, at most {{}}"),
        )
    )


def _null(name: str, of: str) -> Column:
    meaning = f"standard deviation of {of} where nothing differs, at most"
    return Column(f"{name}_null", _REAL, meaning, nullable=True, later=True)


FORGETTING = Table(
    "forgetting",
    "two questions to many models: are they told from retrained ones, and do they remember whose data they had",
    ("scenario", "variant", "request", "client"),
    (
        SCENARIO,
        Column("variant", _TEXT, "name in config/variants.yaml; `original`: the model before the requests"),
        CELL[4],
        Column("client", _INT, "a client of the request; -1: all of them together"),
        _MODELS,
        Column("reached", _INT, "of them, those that met the target accuracy, in the world in which fewer did"),
        Column(
            "client_models",
            _INT,
            "models of the world with the clients: hits and pair_alarms are of so many; null: made before it was noted",
            nullable=True,
            later=True,
        ),
        Column(
            "twin_models",
            _INT,
            "models of the world with their twins: the other alarms are of so many",
            nullable=True,
            later=True,
        ),
        Column(
            "retrain_auc",
            _REAL,
            "AUC of U-LiRA, cross-fitted: unlearned against scratch; 0.5: not told apart",
            nullable=True,
        ),
        Column("retrain_null", _REAL, "standard deviation of that AUC where nothing differs, at most", nullable=True),
        Column("retrain_p", _REAL, "p-value of that AUC, with worlds permuted at random", nullable=True),
        *_counts("retrain", "models of the method", "scratch's models", later=False),
        Column("lowest_auc", _REAL, "the same by the lowest tenth of the client's margins", nullable=True),
        Column(
            "pair_auc",
            _REAL,
            "the same for an attacker who also has the model before the request; null: after a later request than the "
            "first, as only the model before all of them is kept",
            nullable=True,
        ),
        Column("pair_p", _REAL, "p-value of that AUC, with worlds permuted within seeds", nullable=True),
        _null("pair", "pair_auc"),
        *_counts("pair", "pairs of the method", "scratch's pairs", later=True),
        Column(
            "remaining_auc",
            _REAL,
            "retrain_auc by remaining clients, their mean; null: a client's row",
            nullable=True,
        ),
        _null("remaining", "the AUC of one remaining client"),
        Column(
            "remaining_p",
            _REAL,
            "p-value of remaining_auc, with worlds permuted at random: one test of all of them",
            nullable=True,
            later=True,
        ),
        Column(
            "remaining_clients",
            _INT,
            "remaining clients: their hits and alarms are of so many times the models",
            nullable=True,
            later=True,
        ),
        *_counts("remaining", "scores of the method's models by each remaining client", "those of scratch", later=True),
        Column(
            "remaining_told",
            _REAL,
            "share of remaining clients whose paired_p, adjusted, is at most 0.05; null: a client's row",
            nullable=True,
        ),
        Column(
            "paired_auc",
            _REAL,
            "AUC of the mean margin against scratch of the same seeds; of all clients: their mean",
            nullable=True,
        ),
        Column(
            "paired_p",
            _REAL,
            "two-sided p-value of that AUC, with worlds permuted within seeds; of all clients: of their mean",
            nullable=True,
        ),
        Column(
            "paired_adjusted",
            _REAL,
            "paired_p adjusted for the number of clients (Benjamini and Hochberg); null: all of them together",
            nullable=True,
        ),
        Column(
            "twins_auc",
            _REAL,
            "AUC of margins on the client's data minus its twin's between worlds; 0.5: forgotten",
            nullable=True,
        ),
        Column("twins_null", _REAL, "standard deviation of that AUC where nothing is remembered", nullable=True),
        Column(
            "twins_lira_auc",
            _REAL,
            "AUC of U-LiRA, cross-fitted, between the same worlds",
            nullable=True,
        ),
        _null("twins_lira", "that AUC"),
        Column(
            "twins_lira_p",
            _REAL,
            "p-value of that AUC, with worlds permuted at random",
            nullable=True,
            later=True,
        ),
        *_counts("twins_lira", "models of the clients' world", "those of the twins' world", later=True),
        Column(
            "twins_shift",
            _REAL,
            "difference of the two worlds in standard deviations: grows on where AUC is 1",
            nullable=True,
        ),
        Column(
            "original_auc", _REAL, "twins_auc of the model before the requests: what there was to forget", nullable=True
        ),
        Column(
            "placebo_auc",
            _REAL,
            "twins_auc of half of the twins' world against the rest, before the requests",
            nullable=True,
        ),
        Column(
            "ruli_privacy",
            _REAL,
            "AUC of RULI: the client unlearned against never seen, both under unlearned models; 0.5: forgotten",
            nullable=True,
        ),
        Column("ruli_efficacy", _REAL, "the same, never seen under models before the requests", nullable=True),
        Column("ruli_null", _REAL, "standard deviation of both where nothing differs, at most", nullable=True),
        Column("placebo_null", _REAL, "standard deviation of placebo_auc: of half as many models", nullable=True),
        Column(
            "relearn",
            _REAL,
            "mean relearn_steps over scratch's mean; null: not measured, or too few seeds",
            nullable=True,
        ),
        Column("relearn_low", _REAL, "lower end of its 95% bootstrap interval", nullable=True),
        Column("relearn_high", _REAL, "upper end of it", nullable=True),
        Column("relearn_seeds", _INT, "seeds in which the method and scratch came close enough", nullable=True),
        Column("relearn_left_out", _INT, "seeds in which one of them did not", nullable=True),
        Column(
            "relearn_bound",
            _TEXT,
            "= | >= (the method did not in more seeds than scratch: it is at least this) | <= (in fewer)",
            nullable=True,
        ),
        Column("share", _REAL, "share forgotten, 1 - (twins_auc - 0.5) / (original_auc - 0.5)", nullable=True),
        Column("share_low", _REAL, "lower end of its 95% bootstrap interval over seeds", nullable=True),
        Column("share_high", _REAL, "upper end of it", nullable=True),
        Column(
            "forgotten",
            _TEXT,
            "by twins: no (more than three deviations of the null from 0.5) | yes (within two, the whole interval of "
            "the share is from 80% to 120%, as many models as advised, and half of them met the target) | nothing to "
            "forget (the original's AUC and two deviations are below 0.6) | cannot tell",
        ),
    ),
)

DISTANCES = Table(
    "distances",
    "how far the models of a method are from scratch's, next to the same between models that do not differ",
    ("scenario", "variant", "request", "metric", "subset"),
    (
        *FORGETTING.columns[:3],
        Column(
            "metric",
            _TEXT,
            "klom | gaussian_kl (in nats) | disagreement (of the classes that they say) | "
            "jensen_shannon (distance of the right class's probability, against all others) | margin_drop (of a "
            "client's mean margin) | worst_decile_drop (of the tenth of clients with the lowest mean margins)",
        ),
        Column("subset", _TEXT, "forget (clients of the request) | retain | test: at most 1,000 examples of it"),
        _MODELS,
        Column("mean", _REAL, "mean over examples (margin_drop: over clients); null: too few models", nullable=True),
        Column("percentile", _REAL, "the 95th percentile over them", nullable=True),
        Column(
            "null_mean",
            _REAL,
            "the same mean between scratch's models, assigned at random",
            nullable=True,
        ),
        Column("null_percentile", _REAL, "the same percentile", nullable=True),
        Column(
            "null_deviation",
            _REAL,
            "standard deviation of null_mean's mean over such draws; null: also in tables from before it was noted",
            nullable=True,
            later=True,
        ),
        Column(
            "p_value",
            _REAL,
            "share of draws with a mean as large, where the method's and scratch's models are assigned at random",
            nullable=True,
        ),
        Column("enough", pa.bool_(), "whether there are as many models as the metric is advised to have"),
    ),
)

POWER = Table(
    "power",
    "the smallest effect that a metric finds in 90% of draws of oracles, at a level of 5%",
    ("scenario", "request", "metric", "models"),
    (
        SCENARIO,
        CELL[4],
        Column(
            "metric",
            _TEXT,
            "auc | u_lira | ruli | klom | gaussian_kl | neurips_score | jensen_shannon | accuracy, disagreement (both "
            "of whether the right class has more than half of the probability) | twins (the twin test) | worst_decile",
        ),
        _MODELS,
        Column(
            "effect",
            _REAL,
            "in standard deviations of the mean margin of the clients to forget (worst_decile: of the remaining ones, "
            "all of which are shifted); infinite: none is found",
        ),
        Column("oracles", _INT, "models that both worlds are drawn from: scratch of both worlds"),
    ),
)
