"""The replies of a round as models: whose they are, what they weigh, and what the server keeps of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from logging import WARNING
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, Message
from flwr.supercore import log

from sifu.flower.checks import refuse_arrays, refuse_other_shapes, refuse_secure_aggregation
from sifu.flower.models import Arrays
from sifu.flower.past_round import PastRound, distance_of, packed, products_of


@dataclass(frozen=True)
class Reply:
    """A usable reply."""

    message: Message
    model: np.ndarray  # [P]
    weight: float


@dataclass(frozen=True)
class Asked:
    """Who was asked in a round, and what the number of seats followed from."""

    clients: tuple[str, ...]  # by priority: the seats, then the spares
    seats: int
    connected: frozenset[str]
    absent: tuple[str, ...]
    known: int
    share: float | None
    least: int


def to_arrays(record: ArrayRecord) -> Arrays:
    """A model as NumPy arrays, by name."""
    return {name: array.numpy() for name, array in record.items()}


def to_record(arrays: Mapping[str, np.ndarray]) -> ArrayRecord:
    """The inverse."""
    return ArrayRecord({name: Array(np.asarray(part)) for name, part in arrays.items()})


def in_order(arrays: Arrays, before: Arrays, whose: str) -> Arrays:
    """A model in the order of the model before: `flat` follows it, and a reply may have another."""
    refuse_other_shapes(arrays, before, whose)
    return {name: arrays[name] for name in before}


def flat(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """A model as one row. [P]"""
    return np.concatenate([part.reshape(-1) for part in arrays.values()])


def addressed(message: Message, node: int) -> Message:
    """The same message to another node."""
    kept: dict[str, Any] = {"ttl": message.metadata.ttl, "group_id": message.metadata.group_id}
    kind = message.metadata.message_type
    return Message(content=message.content, message_type=kind, dst_node_id=node, **kept)


def read_reply(message: Message, client: str, before: Arrays, key: str) -> Reply | None:
    """A client's model and its weight `key`; None where there is none that can be averaged."""
    if message.has_error():
        return None
    refuse_secure_aggregation(message.content)
    records, metrics = list(message.content.array_records.values()), list(message.content.metric_records.values())
    if len(records) != 1 or len(metrics) != 1 or key not in metrics[0]:
        return None  # the inner strategy says what is wrong
    arrays = to_arrays(records[0])
    refuse_arrays(arrays)
    arrays = in_order(arrays, before, f"the model of client {client}")
    said: Any = metrics[0][key]
    model, weight = flat(arrays), float(said)
    if not np.isfinite(model).all() or not 0 < weight < np.inf:
        log(WARNING, "client %s sent a model that is not finite, or no weight: it is not averaged", client)
        return None
    return Reply(message, model, weight)


def past_round(
    asked: Asked,
    replies: Mapping[str, Reply],
    before: np.ndarray,
    after: np.ndarray,
    sizes: Mapping[str, float],
    model: str,
) -> PastRound:
    """What the server keeps of a round from the model `before` to the model `after` [P]."""
    local: Sequence[np.ndarray] = [replies[c].model if c in replies else before for c in asked.clients]  # no update
    examples = tuple(replies[c].weight if c in replies else 0.0 for c in asked.clients)
    distance = tuple(distance_of(after, replies[c].model) if c in replies else 0.0 for c in asked.clients)
    declared = {c: sizes[c] for c in sorted(asked.connected) if c not in replies}
    return PastRound(
        asked=asked.clients,
        seats=asked.seats,
        examples=examples,
        distance=distance,
        step=distance_of(after, before),
        products=packed(products_of(before, local)),
        total=sum(replies[c].weight if c in replies else declared[c] for c in sorted(asked.connected)),
        declared=declared,
        count=len(asked.connected),
        known=len(sizes),
        absent=asked.absent,
        share=asked.share,
        least=asked.least,
        model=model,
    )
