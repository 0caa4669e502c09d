"""The Parquet tables of many models in two worlds: their margins, on which examples, and what they say of forgetting."""

from __future__ import annotations

import pyarrow as pa

from sifu.store.schemas import CELL, SCENARIO, SEED
from sifu.store.table import Column, Table

_TEXT, _INT, _REAL = pa.string(), pa.int64(), pa.float64()
WITH_CLIENT, WITH_TWIN = "client", "twin"  # who sat in the seats of the forgotten clients

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
        Column(
            "margins",
            pa.list_(pa.float16()),
            "log p / (1 - p) of the right class, from the logits, in the order of `points`",
        ),
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
        Column("label", _INT, "its class"),
        Column("left_at", _INT, "the request that its client is forgotten with; 0: it remains, or test"),
    ),
)

ORACLE_TABLES = (MARGINS, POINTS)
