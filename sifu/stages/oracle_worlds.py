"""Two worlds of a fixed federation: with the clients to forget, and with their twins in their seats.

World `client`: the federation as it is; the clients of the requests are forgotten. World `twin`: the same federation,
where the seats of the clients of one request hold their twins' images; the same requests name the same seats. Clients
of earlier requests are the same in both worlds, so that what is left of them cancels. The same procedure runs in both,
so that whatever it does to a model in general cancels; what is left differs by whose images were in the seats. A
training without these seats has the same distribution in both worlds: scratch of one world are the oracles of the
other, with other draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.data.clients import load_clients, normalise
from sifu.data.dataset import Images
from sifu.data.twins import swap_seats
from sifu.errors import ConfigError
from sifu.federation.engine import Engine
from sifu.stages.block import Block
from sifu.store.oracle_schemas import WITH_CLIENT, WITH_TWIN
from sifu.store.parquet import read_table
from sifu.store.schemas import PARTITION
from sifu.unlearning.request import draw_requests


class World(NamedTuple):
    """Who is in the seats to forget, and after which requests its models are asked for."""

    name: str
    engine: Engine  # one row: the data of its federation
    requests: tuple[int, ...]

    def keys(self, seeds: range) -> Keys:
        """The keys of its models. In world `client` they are those of the stages `train` and `unlearn`. [S]"""
        keys = Keys.of(seeds, self.engine.clients.images.device)
        return keys if self.name == WITH_CLIENT else keys.fold("world", self.name)


class Points(NamedTuple):
    """The examples that models are asked about."""

    images: Tensor  # [n, ...]
    labels: Tensor  # [n]
    table: pd.DataFrame  # as `points`, without the scenario


@dataclass(frozen=True)
class Worlds:
    """The worlds of a block whose first seed stands for all: the federation is fixed."""

    block: Block
    requests: tuple[int, ...]  # after which of them models are asked for

    @cached_property
    def images(self) -> Images:
        return self.block.images()

    @cached_property
    def forget(self) -> list[Tensor]:
        """The clients of each request as far as the last that is asked about. [C] each"""
        scenario = self.block.scenario
        masks = [mask[0] for mask in draw_requests(scenario, Keys.of(self.block.seeds[:1]))]
        if not all(1 <= number <= len(masks) for number in self.requests):
            raise ConfigError("--requests", list(self.requests), f"numbers from 1 to {len(masks)}")
        return masks[: max(self.requests)]

    @cached_property
    def engine(self) -> Engine:
        """The engine of the federation as it is."""
        return replace(self.block.engine(self.images), checkpoints=None)  # batches are short; blocks are stored

    @cached_property
    def test_data(self) -> Clients | None:
        """The test set as clients, for methods that are stopped by an oracle."""
        return self.block.test_set()

    def __iter__(self) -> Iterator[World]:
        """The world of the clients, and one of the twins for each request: only the seats of this request differ."""
        forget = self.forget  # refuses a request that is not there before anything is trained
        yield World(WITH_CLIENT, self.engine, self.requests)
        for number in self.requests:
            data = self.clients_with_twins(forget[number - 1]).to(self.engine.clients.images.device)
            yield World(WITH_TWIN, replace(self.engine, clients=data), (number,))

    @cached_property
    def partition(self) -> pd.DataFrame:
        """Who holds which image of the train set."""
        return read_table(self.block.partition, PARTITION)

    def clients_with_twins(self, seats: Tensor) -> Clients:
        """The data of the federation where the `seats` [C] bool hold the twins."""
        return load_clients(self.block.scenario, self.images, self._swapped(seats), self.block.seeds[:1])

    def _swapped(self, seats: Tensor) -> pd.DataFrame:
        return swap_seats(self.partition, seats.nonzero().flatten().tolist())

    @cached_property
    def points(self) -> Points:
        """The examples of all clients, of the twins, and of the test set."""
        left_at = torch.zeros_like(self.forget[0], dtype=torch.int64)
        for number, mask in enumerate(self.forget, start=1):
            left_at = left_at.masked_fill(mask, number)
        parts = [_owned("client", self.engine.clients, left_at >= 0, left_at)]
        parts.append(_owned("twin", self.clients_with_twins(left_at > 0), left_at > 0, left_at))
        for part, held in zip(parts, (self.partition, self._swapped(left_at > 0)), strict=True):
            part.table["row"] = self._image_rows(part.table, held)
        parts += [] if (test := self._test()) is None else [test]
        device = self.engine.clients.images.device
        table = pd.concat([part.table for part in parts], ignore_index=True)
        table["point"] = np.arange(len(table))
        images = torch.cat([part.images.to(device) for part in parts])
        return Points(images, torch.cat([part.labels.to(device) for part in parts]), table)

    def _image_rows(self, points: pd.DataFrame, held: pd.DataFrame) -> list[int]:
        """Which images points are of, by a partition."""
        held = held[held["seed"] == self.block.seeds[0]]
        places = list(points[["client", "place"]].itertuples(index=False, name=None))
        return held.set_index(["client", "place"])["row"].loc[places].tolist()

    def _test(self) -> Points | None:
        """The test set; None where the source has none."""
        test = self.images.test
        if test is None:
            return None
        count = len(test.labels)
        own = {"place": np.arange(count), "row": np.arange(count), "label": test.labels}
        named = {"owner": "test", "client": -1, "left_at": 0} | own
        pixels = normalise(test.pixels(np.arange(count)), self.block.scenario)
        return Points(pixels, torch.from_numpy(test.labels), pd.DataFrame(named))


def _owned(owner: str, clients: Clients, chosen: Tensor, left_at: Tensor) -> Points:
    """The examples of the `chosen` [C] clients of the first row."""
    real = clients.real()[0].cpu() & chosen[:, None]  # [C, n]
    client, place = real.nonzero(as_tuple=True)
    images, labels = (part[0][real.to(part.device)] for part in (clients.images, clients.labels))
    columns = {"client": client, "place": place, "label": labels.cpu(), "left_at": left_at[client]}
    table = pd.DataFrame({name: column.numpy() for name, column in columns.items()})
    return Points(images, labels, table.assign(owner=owner))
