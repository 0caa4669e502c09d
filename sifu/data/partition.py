"""The partition of examples among clients: pure functions of labels (or persons), client numbers and a key.

Each returns the rows of every client. No example is held twice, unless the partition says `replacement: true`
(released.py). A client's draws depend on its number alone, so the order in which clients are listed does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray

from sifu.config.partition import Dirichlet, Iid, Natural, OneClass, Partition
from sifu.core.keys import Keys
from sifu.data import released
from sifu.data.dataset import Labels, Split
from sifu.data.twins import draw_twins
from sifu.errors import DataError

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Holdings:
    """The rows of each client, and how many of them are of another class than drawn because a class ran out."""

    rows: dict[int, Labels]
    moved: int = 0
    server: Labels | None = None  # the rows that the server holds; None: none
    twins: dict[int, Labels] = field(default_factory=dict)  # the rows of the twin of each client that has one


def partition_split(
    partition: Partition,
    split: Split,
    num_classes: int,
    seed: int,
    marked: tuple[int, ...] | None = None,
    twins_of: Sequence[int] = (),
) -> Holdings:
    """The holdings of one seed under a scenario's partition, and the twins of the clients `twins_of`.

    `marked`: an image's shape in the paper's code, if that code marks images while it draws them.
    """
    if not partition.server_share:
        return _with_twins(partition, split, _deal(partition, split, num_classes, seed, marked), twins_of, seed)
    drawn_by = seed if partition.seed is None else partition.seed
    own, rest = server_rows(len(split.labels), partition.server_share, Keys.of([drawn_by]).rows(0))
    groups = None if split.groups is None else split.groups[rest]
    part = Split(split.labels[rest], split.pixels, groups)
    held = _with_twins(partition, part, _deal(partition, part, num_classes, seed, marked), twins_of, seed)
    clients, twins = ({client: rest[rows] for client, rows in some.items()} for some in (held.rows, held.twins))
    return Holdings(clients, held.moved, own, twins)


def _with_twins(partition: Partition, split: Split, held: Holdings, twins_of: Sequence[int], seed: int) -> Holdings:
    """The holdings with a twin of each of the clients `twins_of`: the federation itself is the same without them."""
    if not twins_of:
        return held
    key, twins_of = Keys.of([seed if partition.seed is None else partition.seed]).rows(0), sorted(twins_of)
    if not isinstance(partition, Natural):
        return replace(held, twins=draw_twins(split.labels, held.rows, twins_of, key))
    assert split.groups is not None  # `natural` has refused
    count = partition.num_clients
    persons = natural(split.groups, range(count + len(twins_of)), partition, key).rows  # the next ones in line
    return replace(held, twins={client: persons[count + i] for i, client in enumerate(twins_of)})


def server_rows(count: int, share: float, key: Keys) -> tuple[Labels, Labels]:
    """`count` rows, divided at random: the server's share of them, and the others. Both ascend."""
    order = _shuffled(np.arange(count), key.fold("server"))
    cut = round(share * count)
    if not cut:
        raise DataError(f"a share of {share:g} of {count} images is less than one: raise partition.server_share")
    return np.sort(order[:cut]), np.sort(order[cut:])


def _deal(partition: Partition, split: Split, num_classes: int, seed: int, marked: tuple[int, ...] | None) -> Holdings:
    """What the clients hold of a split."""
    clients, seed = range(partition.num_clients), seed if partition.seed is None else partition.seed
    key = Keys.of([seed]).rows(0)
    match partition:
        case OneClass(replacement=True):
            shares = released.one_class_shares(partition.num_clients, num_classes)
            generator = np.random.RandomState(seed)
            return Holdings(released.draw_clients(split.labels, shares, partition.examples, generator, marked))
        case Dirichlet(replacement=True):
            generator = np.random.RandomState(seed)
            shares = released.dirichlet_shares(partition.num_clients, num_classes, partition.alpha, generator)
            return Holdings(released.draw_clients(split.labels, shares, partition.examples, generator, marked))
        case OneClass():
            return one_class(split.labels, clients, partition.examples, num_classes, key)
        case Dirichlet():
            return dirichlet(split.labels, clients, partition.examples, partition.alpha, num_classes, key)
        case Iid():
            return iid(split.labels, clients, partition.examples, key)
        case Natural():
            if split.groups is None:
                raise DataError(
                    "a natural partition needs to know whose example each one is (Parquet: a column client)"
                )
            return natural(split.groups, clients, partition, key)


def one_class(labels: Labels, clients: Sequence[int], examples: int, num_classes: int, key: Keys) -> Holdings:
    """Client i holds `examples` examples of the class i mod num_classes."""
    rows: dict[int, Labels] = {}
    for label in range(num_classes):
        owners = [client for client in sorted(clients) if client % num_classes == label]
        pool = _shuffled(np.flatnonzero(labels == label), key)
        if len(owners) * examples > len(pool):
            raise DataError(
                f"class {label} has {len(pool)} examples, its {len(owners)} clients need {len(owners) * examples}: "
                "lower partition.examples or partition.num_clients"
            )
        rows |= {client: pool[i * examples : (i + 1) * examples] for i, client in enumerate(owners)}
    return Holdings({client: rows[client] for client in sorted(rows)})


def iid(labels: Labels, clients: Sequence[int], examples: int, key: Keys) -> Holdings:
    """`examples` examples for each client, dealt at random."""
    _check_total(len(labels), len(clients), examples)
    pool = _shuffled(np.arange(len(labels)), key)
    return Holdings({client: pool[i * examples : (i + 1) * examples] for i, client in enumerate(sorted(clients))})


def natural(groups: Labels, clients: Sequence[int], partition: Natural, key: Keys) -> Holdings:
    """One person per client, drawn among the persons with at least `min_examples`, with their examples."""
    persons, counts = np.unique(groups, return_counts=True)
    eligible = persons[counts >= partition.min_examples]
    if len(eligible) < len(clients):
        raise DataError(
            f"{len(eligible)} persons have at least {partition.min_examples} examples, "
            f"{len(clients)} clients are asked for: lower partition.min_examples or partition.num_clients"
        )
    drawn = eligible if partition.order == "first" else _shuffled(eligible, key)
    most = slice(partition.max_examples)
    return Holdings({client: np.flatnonzero(groups == drawn[i])[most] for i, client in enumerate(sorted(clients))})


def dirichlet(
    labels: Labels, clients: Sequence[int], examples: int, alpha: float, num_classes: int, key: Keys
) -> Holdings:
    """Class proportions ~ Dirichlet(alpha) per client, rounded to exactly `examples` (Hsu et al. 2019).

    If the clients together want more of a class than it has, each gets its proportional part of it and takes the rest
    from the remaining classes, in its own proportions. `moved` counts the examples taken from another class.
    """
    _check_total(len(labels), len(clients), examples)
    clients = sorted(clients)
    proportions = np.stack([_proportions(client, alpha, num_classes, key) for client in clients])  # [C, classes]
    wanted = np.stack([_largest_remainder(row, examples) for row in proportions])  # [C, classes]
    supply = np.bincount(labels, minlength=num_classes)  # [classes]
    given = fit_supply(wanted, proportions, supply)
    rows: dict[int, list[Labels]] = {client: [] for client in clients}
    for label in range(num_classes):
        pool = _shuffled(np.flatnonzero(labels == label), key)
        ends = given[:, label].cumsum()
        for client, count, end in zip(clients, given[:, label], ends, strict=True):
            rows[client].append(pool[end - count : end])
    if not np.array_equal(given.sum(1), np.full(len(clients), examples)):
        raise DataError(f"Dirichlet({alpha:g}) gave no usable proportions: choose another partition.alpha")
    moved = int(np.maximum(wanted - given, 0).sum())
    return Holdings({client: np.concatenate(parts) for client, parts in rows.items()}, moved)


def fit_supply(wanted: Counts, proportions: NDArray[np.float64], supply: Counts) -> Counts:
    """Counts [C, classes] with the row sums of `wanted` and no column sum above `supply` [classes]."""
    given, is_open = wanted.copy(), np.ones(len(supply), bool)
    while (over := is_open & (given.sum(0) > supply)).any():
        freed = np.zeros(len(given), np.int64)  # [C]
        for label in np.flatnonzero(over):
            share = _largest_remainder(given[:, label], int(supply[label]))
            freed += given[:, label] - share
            given[:, label] = share
        is_open &= ~over  # a class that ran out keeps its counts: each pass closes at least one
        for client in np.flatnonzero(freed):
            weights = np.where(is_open, proportions[client], 0.0)
            given[client] += _largest_remainder(weights if weights.sum() > 0 else is_open, int(freed[client]))
    return given


def _largest_remainder(weights: NDArray[np.generic], total: int) -> Counts:
    """Whole numbers in proportion to `weights` that sum to `total` (Hamilton's method; ties go to the first)."""
    quota = np.asarray(weights, np.float64) / np.sum(weights, dtype=np.float64) * total
    counts = np.floor(quota).astype(np.int64)
    rest = total - int(counts.sum())
    counts[np.argsort(counts - quota, kind="stable")[:rest]] += 1
    return counts


def _proportions(client: int, alpha: float, num_classes: int, key: Keys) -> NDArray[np.float64]:
    """The client's draw from Dirichlet(alpha), by NumPy's sampler with a generator seeded by the client's key."""
    seed = int(key.fold("dirichlet", client).state) % 2**64
    return np.random.Generator(np.random.Philox(key=seed)).dirichlet(np.full(num_classes, alpha))


def _shuffled(rows: Labels, key: Keys) -> Labels:
    """`rows` in a random order; a row's priority depends on its own number alone."""
    priority = key.fold("pool").each(torch.from_numpy(np.ascontiguousarray(rows))).state.numpy()
    return rows[np.argsort(priority, kind="stable")]


def _check_total(available: int, num_clients: int, examples: int) -> None:
    if num_clients * examples > available:
        raise DataError(
            f"{num_clients} clients x {examples} examples need {num_clients * examples}, the dataset has {available}: "
            "lower partition.examples or partition.num_clients"
        )
