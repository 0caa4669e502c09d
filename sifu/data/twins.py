"""Twins: for a client, other images of the same classes, as the partition might have given it.

With a client's own images and its twin's drawn alike, and nobody else's changed, a federation with the client and one
with the twin in its seat are exchangeable. A model that tells the two apart remembers whose seat it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import torch

from sifu.core.keys import Keys
from sifu.data.dataset import Labels
from sifu.errors import DataError

_FIRST = -2  # number of client 0's twin in the partition; that of client 1 is -3


def twin_of(client: int) -> int:
    """The number of a client's twin in the partition."""
    return _FIRST - client


def draw_twins(labels: Labels, held: Mapping[int, Labels], clients: Sequence[int], key: Keys) -> dict[int, Labels]:
    """For each of `clients`, as many rows of each class as it has, among the rows that no client holds."""
    taken = np.zeros(len(labels), bool)
    taken[np.concatenate(list(held.values()))] = True
    rows: dict[int, list[Labels]] = {client: [] for client in clients}
    for label in np.unique(labels):
        pool = _shuffled(np.flatnonzero((labels == label) & ~taken), key)
        counts = [int((labels[held[client]] == label).sum()) for client in clients]
        if sum(counts) > len(pool):
            raise DataError(
                f"class {label} has {len(pool)} examples that no client holds, twins need {sum(counts)}: "
                "lower partition.examples or partition.num_clients, or forget fewer clients"
            )
        for client, part in zip(clients, np.split(pool, np.cumsum(counts)), strict=False):  # the last one is left over
            rows[client].append(part)
    return {client: np.concatenate(parts) for client, parts in rows.items()}


def swap_seats(partition: pd.DataFrame, clients: Iterable[int]) -> pd.DataFrame:
    """The partition with the twins of `clients` in their seats."""
    seats = {twin_of(client): client for client in clients}
    missing = [client for number, client in seats.items() if number not in set(partition["client"])]
    if missing:
        raise DataError(f"the partition has no twins of clients {missing}: set partition.twins and run partition again")
    rest = partition[~partition["client"].isin(list(seats.values()))]
    return rest.assign(client=rest["client"].replace(seats))


def _shuffled(rows: Labels, key: Keys) -> Labels:
    """`rows` in a random order; a row's priority depends on its own number alone."""
    priority = key.fold("twins").each(torch.from_numpy(np.ascontiguousarray(rows))).state.numpy()
    return rows[np.argsort(priority, kind="stable")]
