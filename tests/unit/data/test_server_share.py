"""The server's own share of the images: cut off before the partition, of nobody else, and nothing by default."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sifu.config.partition import Dirichlet, Iid, Natural, OneClass, Partition
from sifu.data.clients import SERVER, load_clients, load_server_data
from sifu.data.dataset import array_split, load_images
from sifu.data.partition import partition_split
from sifu.errors import ConfigError, DataError
from sifu.plan.load import load_scenario
from sifu.stages.partition import run_partition
from sifu.store.parquet import read_table
from sifu.store.schemas import PARTITION
from tests.conftest import REPO

LABELS, GROUPS = np.arange(300) % 5, np.repeat(np.arange(20), 15)
SPLIT = array_split(np.zeros((300, 1, 2, 2), np.uint8), LABELS, GROUPS)

# SHA-256 of the clients' rows of seed 7, as they were drawn before this setting existed
BEFORE: list[tuple[Partition, str]] = [
    (OneClass(num_clients=10, examples=8), "b3cbc016f23bd084"),
    (Dirichlet(num_clients=10, examples=8, alpha=0.5), "81043ff69469bdf5"),
    (Natural(num_clients=10), "1907afc7014730cf"),
    (Iid(num_clients=10, examples=8), "cbee80afbfd70baa"),
    (Iid(num_clients=10, examples=8, seed=3), "6ef3c6bb8aa6a0f3"),
    (OneClass(num_clients=10, examples=8, replacement=True, seed=0), "fd43f508c3cd4a64"),
]


@pytest.mark.parametrize(("partition", "digest"), BEFORE, ids=lambda value: str(value)[:30])
def test_without_a_share_nothing_changes(partition: Partition, digest: str) -> None:
    held = partition_split(partition, SPLIT, 5, 7)
    rows = np.concatenate([held.rows[client] for client in range(10)]).astype(np.int64)
    assert hashlib.sha256(rows.tobytes()).hexdigest()[:16] == digest
    assert held.server is None


@pytest.mark.parametrize("partition", [one for one, _ in BEFORE if one.seed != 3], ids=lambda value: str(value)[:30])
def test_the_server_holds_its_share_and_nobody_else_holds_it(partition: Partition) -> None:
    """10% of 300 images; a client of one class keeps that class."""
    held = partition_split(replace(partition, server_share=0.1), SPLIT, 5, 7)
    assert held.server is not None
    assert len(held.server) == len(np.unique(held.server)) == 30
    clients = np.concatenate(list(held.rows.values()))
    assert not set(held.server.tolist()) & set(clients.tolist())
    if isinstance(partition, OneClass):
        assert all((LABELS[rows] == client % 5).all() for client, rows in held.rows.items())
    other = partition_split(replace(partition, server_share=0.1), SPLIT, 5, 8)
    assert np.array_equal(held.server, other.server) == (partition.seed is not None)


def test_a_partition_of_one_seed_has_one_server_share() -> None:
    partition = Iid(num_clients=10, examples=8, seed=3, server_share=0.1)
    first, second = (partition_split(partition, SPLIT, 5, seed).server for seed in (7, 8))
    assert np.array_equal(first, second)


def test_shares_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"server_share: 0\.6 is refused"):
        Iid(server_share=0.6)
    with pytest.raises(DataError, match=r"less than one: raise partition\.server_share"):
        partition_split(Iid(num_clients=10, examples=8, server_share=0.001), SPLIT, 5, 7)


def test_from_the_partition_to_the_engine(tmp_path: Path) -> None:
    """A scenario with 5% at the server: its examples are the table's rows of client -1, and of no client."""
    scenario = load_scenario(REPO / "config/scenarios.yaml", "smoke", tmp_path)
    cut = replace(scenario, partition=replace(scenario.partition, server_share=0.05))
    run_partition("smoke", cut, range(2), tmp_path, data_root=tmp_path)
    table, images = read_table(tmp_path / "partition.parquet", PARTITION), load_images(cut.dataset, tmp_path)
    own, clients = load_server_data(cut, images, table, range(2)), load_clients(cut, images, table, range(2))
    assert own is not None
    count = round(0.05 * len(images.train.labels))
    assert own.images.shape[:3] == (2, 1, count)
    assert own.size.tolist() == [[count], [count]]
    assert clients.num_clients == scenario.partition.num_clients
    rows = table[(table["seed"] == 1) & (table["client"] == SERVER)]["row"].to_numpy()
    assert torch.equal(own.labels[1, 0], torch.from_numpy(images.train.labels[rows]))
    assert not set(rows) & set(table[(table["seed"] == 1) & (table["client"] >= 0)]["row"])
    assert load_server_data(scenario, images, table[table["client"] >= 0], range(2)) is None
