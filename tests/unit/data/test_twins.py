"""Twins: the client's classes, other images that nobody holds; and federations that are the same for all seeds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from sifu.config.partition import Dirichlet, Iid, Natural, OneClass, Partition, Watermark
from sifu.config.requests import RandomRequests
from sifu.config.scenario import Scenario, fixed_federation
from sifu.core.keys import Keys
from sifu.data.clients import load_clients
from sifu.data.dataset import array_split, load_images
from sifu.data.partition import partition_split
from sifu.data.twins import swap_seats, twin_of
from sifu.errors import ConfigError, DataError
from sifu.plan.load import load_scenario
from sifu.stages.partition import run_partition
from sifu.store.parquet import read_table
from sifu.store.schemas import PARTITION
from sifu.unlearning.request import draw_requests
from tests.conftest import REPO

LABELS, GROUPS = np.arange(300) % 5, np.repeat(np.arange(20), 15)
SPLIT = array_split(np.zeros((300, 1, 2, 2), np.uint8), LABELS, GROUPS)
KINDS: list[Partition] = [
    OneClass(num_clients=10, examples=8),
    Dirichlet(num_clients=10, examples=8, alpha=0.5),
    Iid(num_clients=10, examples=8, server_share=0.1),
    OneClass(num_clients=10, examples=8, replacement=True, seed=0),
    Natural(num_clients=10),
]


@pytest.mark.parametrize("partition", KINDS, ids=lambda value: str(value)[:30])
def test_a_twin_has_the_clients_classes_and_images_of_nobody(partition: Partition) -> None:
    held = partition_split(partition, SPLIT, 5, 7, twins_of=[4, 1])
    alone = partition_split(partition, SPLIT, 5, 7)
    assert sorted(held.twins) == [1, 4]
    assert all(np.array_equal(held.rows[client], alone.rows[client]) for client in range(10))
    others = np.concatenate([*held.rows.values(), *([] if held.server is None else [held.server])])
    twins = np.concatenate(list(held.twins.values()))
    assert not set(twins) & set(others)
    assert len(set(twins)) == len(twins)
    for client, rows in held.twins.items():
        if isinstance(partition, Natural):  # another person, with all of their images
            assert len(set(GROUPS[rows])) == 1
        else:
            assert np.array_equal(np.sort(LABELS[rows]), np.sort(LABELS[held.rows[client]]))


def test_a_class_that_runs_out_is_refused() -> None:
    with pytest.raises(DataError, match="class 0 has 10 examples that no client holds, twins need 50"):
        partition_split(OneClass(num_clients=5, examples=50), SPLIT, 5, 0, twins_of=[0])


def smoke(partition: Partition) -> Scenario:
    return replace(load_scenario(REPO / "config" / "scenarios.yaml", "smoke", Path("data")), partition=partition)


def test_the_twin_takes_the_clients_seat(tmp_path: Path) -> None:
    """Clients 0 and 10 hold class 0, the request's; in the other world these two seats alone have other images."""
    scenario = smoke(OneClass(num_clients=20, examples=20, twins=True, seed=3))
    run_partition("smoke", scenario, range(2), tmp_path, data_root=Path("data"))
    table, images = read_table(tmp_path / "partition.parquet", PARTITION), load_images(scenario.dataset, Path("data"))
    who = [client for mask in draw_requests(scenario, Keys.of([0])) for client in mask[0].nonzero().flatten().tolist()]
    assert {client for client in table["client"] if client < 0} == {twin_of(client) for client in who}
    with_clients, with_twins = (
        load_clients(scenario, images, one, range(1)) for one in (table, swap_seats(table, [0, 10]))
    )
    changed = (with_clients.images != with_twins.images).flatten(2).any(2)[0]
    assert changed.nonzero().flatten().tolist() == [0, 10]
    assert torch.equal(with_clients.labels, with_twins.labels)
    with pytest.raises(DataError, match="no twins of clients \\[5\\]"):
        swap_seats(table, [5])


def test_a_fixed_federation_has_the_same_data_and_requests_for_all_seeds() -> None:
    partition = OneClass(num_clients=20, examples=20)
    drawn = replace(smoke(partition), requests=RandomRequests(num_requests=2, size=3))
    keys = Keys.of([0, 1, 5])
    fixed = replace(drawn, requests=RandomRequests(num_requests=2, size=3, seed=5))
    for own, same in zip(draw_requests(drawn, keys), draw_requests(fixed, keys), strict=True):
        assert torch.equal(same, own[2].expand(3, -1))  # those of seed 5
        assert not torch.equal(own[0], own[1])
    assert not fixed_federation(drawn)
    assert not fixed_federation(fixed)
    assert fixed_federation(replace(fixed, partition=replace(partition, seed=5)))
    assert not fixed_federation(replace(fixed, partition=replace(partition, seed=5), watermark=Watermark()))


def test_impossible_twins_are_refused() -> None:
    with pytest.raises(ConfigError, match="order: first"):
        Natural(twins=True, order="first")
    for kind in (OneClass, partial(Dirichlet, alpha=0.5)):
        with pytest.raises(ConfigError, match="twins: True is refused; allowed: false with replacement: true"):
            kind(twins=True, replacement=True)
    with pytest.raises(ConfigError, match=r"partition\.twins: True is refused; allowed: false with a watermark"):
        replace(smoke(OneClass(num_clients=20, examples=20, twins=True)), watermark=Watermark())
