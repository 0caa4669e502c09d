"""From a dataset and its partition to the tensors that the engine trains on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from sifu.catalog.datasets import DATASETS
from sifu.config.partition import Natural
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.data.backdoor import draw_triggers, held_out_rows, poison
from sifu.data.dataset import Images, Pixels
from sifu.data.released import GROUPS, mark_images
from sifu.data.scaling import scale_images
from sifu.data.watermark import pixel_sets, stamp
from sifu.errors import DataError

SERVER = -1  # its number in the partition


def load_clients(scenario: Scenario, images: Images, partition: pd.DataFrame, seeds: range) -> Clients:
    """The data of all clients of every seed, with marks if the scenario has any, normalised and padded."""
    _check_rows(partition, images)
    num_clients = scenario.partition.num_clients
    held = _rows_of(partition, seeds, range(num_clients))  # [S][C] -> rows
    longest = max(len(rows) for clients in held for rows in clients)
    if longest > scenario.partition.examples and not isinstance(scenario.partition, Natural):
        raise DataError(f"a client holds {longest} examples in the partition, not {scenario.partition.examples}")
    shape = DATASETS[scenario.dataset.name].shape
    x = torch.zeros(len(seeds), num_clients, longest, *shape)
    y = torch.zeros(len(seeds), num_clients, longest, dtype=torch.int64)
    size = torch.zeros(len(seeds), num_clients, dtype=torch.int64)
    needed = np.unique(np.concatenate([rows for clients in held for rows in clients]))
    decoded = images.train.pixels(needed)  # each image once, even if several seeds hold it
    for s, clients in enumerate(held):
        marks, triggers = _marks(scenario, seeds[s]), draw_triggers(scenario, seeds[s])
        for c, rows in enumerate(clients):
            pixels = decoded[np.searchsorted(needed, rows)]
            pixels = _stamped(scenario, pixels, marks, c, images.train.groups, rows)
            labels = images.train.labels[rows]
            if triggers is not None:
                pixels, labels = poison(pixels, labels, triggers, c)
            x[s, c, : len(rows)] = normalise(pixels, scenario)
            y[s, c, : len(rows)] = torch.from_numpy(labels)
            size[s, c] = len(rows)
    return Clients(x, y, size)


def load_server_data(scenario: Scenario, images: Images, partition: pd.DataFrame, seeds: range) -> Clients | None:
    """The server's own examples of every seed, without marks, as of one client; None where it has none."""
    own = partition[partition["client"] == SERVER]
    if own.empty:
        return None
    held = _rows_of(own, seeds, [SERVER])
    pixels = [normalise(images.train.pixels(rows), scenario) for (rows,) in held]
    labels = [torch.from_numpy(images.train.labels[rows]) for (rows,) in held]
    size = torch.tensor([[len(rows)] for (rows,) in held])
    return Clients(torch.stack(pixels).unsqueeze(1), torch.stack(labels).unsqueeze(1), size)  # [S, 1, n, ...]


def _check_rows(partition: pd.DataFrame, images: Images) -> None:
    """Refuse a partition that was made from other data."""
    rows, labels = partition["row"].to_numpy(), images.train.labels
    inside = not len(rows) or (rows.min() >= 0 and rows.max() < len(labels))
    if not inside or not np.array_equal(labels[rows], partition["label"].to_numpy()):
        raise DataError("the partition was made from other data: its labels differ; run partition again")


def _rows_of(partition: pd.DataFrame, seeds: range, clients: Sequence[int]) -> list[list[np.ndarray]]:
    """The rows of each of `clients` of each seed. [S][C]"""
    groups = {key: group.sort_values("place")["row"].to_numpy() for key, group in partition.groupby(["seed", "client"])}
    for seed in seeds:
        for client in clients:
            if (seed, client) not in groups:
                raise DataError(f"client {client} of seed {seed} has no examples in the partition")
    return [[groups[seed, client] for client in clients] for seed in seeds]


def _stamped(
    scenario: Scenario,
    pixels: Pixels,
    marks: np.ndarray | None,
    client: int,
    persons: np.ndarray | None,
    rows: np.ndarray,
) -> Pixels:
    """A client's images with its watermark, if there is one."""
    if marks is None:
        return pixels
    assert scenario.watermark is not None
    if not scenario.watermark.as_released:
        return stamp(pixels, marks[client])
    natural = persons is not None and isinstance(scenario.partition, Natural)
    number = int(persons[rows[0]]) - 1 if natural else client  # type: ignore[index]  # the code counts its persons
    return mark_images(pixels, number % GROUPS)


def _marks(scenario: Scenario, seed: int) -> np.ndarray | None:
    """The marked pixels of each client; None without a watermark. [C, pixels]"""
    if scenario.watermark is None:
        return None
    _, height, width = DATASETS[scenario.dataset.name].shape
    return pixel_sets(scenario.watermark, height * width, scenario.partition.num_clients, Keys.of([seed]).rows(0))


def load_checks(scenario: Scenario, images: Images, partition: pd.DataFrame, seeds: range) -> Clients:
    """The triggered images that each client of each seed checks with; their label is the client's chosen one."""
    backdoor = scenario.backdoor
    assert backdoor is not None, "only a scenario with a backdoor has checks"
    shape, num_clients = DATASETS[scenario.dataset.name].shape, scenario.partition.num_clients
    x = torch.zeros(len(seeds), num_clients, backdoor.held_out, *shape)
    y = torch.zeros(len(seeds), num_clients, backdoor.held_out, dtype=torch.int64)
    for s, seed in enumerate(seeds):
        triggers = draw_triggers(scenario, seed)
        assert triggers is not None
        split, rows = held_out_rows(images, partition, seed)
        own = [triggers.check_rows(c, rows, split.labels) for c in range(num_clients)]  # [C][held_out]
        needed = np.unique(np.concatenate(own))
        decoded = split.pixels(needed)  # each image once, even if several clients check with it
        for c, target in enumerate(triggers.target.tolist()):
            pixels = decoded[np.searchsorted(needed, own[c])]
            x[s, c] = normalise(stamp(pixels, triggers.pixels[c]), scenario)
            y[s, c] = target
    return Clients(x, y, torch.full((len(seeds), num_clients), backdoor.held_out))


def normalise(pixels: Pixels, scenario: Scenario) -> Tensor:
    """Bytes [n, C, H, W] as floats: about zero mean and unit variance per channel, or each image of norm 1."""
    spec = DATASETS[scenario.dataset.name]
    mean, std = spec.mean, spec.std
    if scenario.dataset.scale == "released" and spec.released_scale is not None:
        mean, std = spec.released_scale
    return scale_images(torch.from_numpy(pixels), mean, std, scenario.dataset.scale)
