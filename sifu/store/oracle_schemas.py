"""The Parquet tables of the margins of many models in two worlds."""

from __future__ import annotations

import pyarrow as pa

from sifu.store.schemas import CELL, SCENARIO, SEED
from sifu.store.table import Column, Table

_TEXT, _INT, _REAL = pa.string(), pa.int64(), pa.float64()
WITH_CLIENT, WITH_TWIN = "client", "twin"  # who sat in the seats of the forgotten clients
OTHER_DRAWS = 10**12  # added to the seeds of the twins' world where worlds are compared: they share no draws

_WORLD = Column("world", _TEXT, "who sat in the seats to forget: client (the clients themselves) | twin (their twins)")


def original_of(variant: str) -> str:
    """The name of the model before the requests of a variant with a training of its own."""
    return f"original of {variant}"


MARGINS = Table(
    "margins",
    "how surely each of many models gives the right answer on every point; a row group a model. The models of the two "
    "worlds share no draws; those of one world and seed share the initial model",
    ("scenario", "variant", "request", "world", "seed"),
    (
        SCENARIO,
        Column("variant", _TEXT, "name in config/variants.yaml; `original`: the model before the requests"),
        CELL[4],
        _WORLD,
        SEED,
        Column("status", _TEXT, "done | not_reached (at max_rounds) | diverged"),
        Column("rounds", _INT, "rounds of the training, or of the recovery, that it ended with"),
        Column(
            "relearn_steps",
            _INT,
            "client steps with the request's clients back until their accuracy is close to the original's; no part of "
            "any cost; null: not measured, or a training of its own",
            nullable=True,
        ),
        Column("relearned", pa.bool_(), "whether it came that close within the rounds allowed", nullable=True),
        Column(
            "margins",
            pa.list_(pa.float16()),
            "log p / (1 - p) of the right class, from the logits, in the order of `points`",
        ),
        Column("predicted", pa.list_(pa.uint8()), "the class that the model says, in the same order"),
    ),
)

POINTS = Table(
    "points",
    "the examples that margins are about: of all clients, of the twins, and the test set",
    ("scenario", "point"),
    (
        SCENARIO,
        Column("point", _INT, "place in a row of `margins`, from 0"),
        Column("owner", _TEXT, "client | twin | test"),
        Column("client", _INT, "number of the client (of a twin: whose twin it is); -1: the test set"),
        Column("place", _INT, "number of the example at its owner, from 0"),
        Column(
            "row",
            _INT,
            "row of its image in the dataset's train set (test: in its test set); null: made before it was noted",
            nullable=True,
            later=True,
        ),
        Column("label", _INT, "its class"),
        Column("left_at", _INT, "the request that its client is forgotten with; 0: it remains, or test"),
    ),
)

CLIENT_MARGINS = Table(
    "client_margins",
    "what the twin test and U-LiRA read of the margins: means over a client's examples. Small enough to be published",
    ("scenario", "variant", "request", "world", "seed", "client"),
    (
        *MARGINS.columns[:5],
        Column("client", _INT, "a client of the request"),
        Column("own", pa.float32(), "mean margin on the client's data"),
        Column("twin", pa.float32(), "mean margin on its twin's data"),
    ),
)
