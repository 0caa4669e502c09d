"""The settings of a federation whose data are given as arrays: a scenario without a dataset to load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sifu.config.certificate import Certificate
from sifu.config.fields import at_least, setting, settings
from sifu.config.partition import Iid, Natural
from sifu.config.requests import ListedRequests, Requests
from sifu.config.scenario import Dataset, Scenario
from sifu.errors import ConfigError

NAME = "arrays"  # in tables, where scenarios of a config have their own
SIGMA = 0.05  # of SIFU's noise where none is given: that of most scenarios in config/scenarios.yaml


@settings
class GivenData(Dataset):
    """Arrays instead of a dataset of the catalog."""

    name: str = setting("a word for tables", default=NAME)


@settings
class GivenScenario(Scenario):
    """A scenario of given data. Requests are not planned: they come one by one."""

    label: str = setting("a word for tables", default=NAME)
    model: str = setting("name of the model, or of its class")
    certificate: Certificate = setting("what is promised to the forgotten clients", default=Certificate(sigma=SIGMA))
    requests: Requests = setting("none is planned", default=ListedRequests(clients=()))
    classes: int = setting("number of classes", at_least(2))

    @property
    def num_classes(self) -> int:
        return self.classes

    def refuse(self) -> None:
        """Refuse cohorts and batches that are larger than what there is."""
        federation, partition = self.federation, self.partition
        if federation.clients_per_round > partition.num_clients:
            allowed = f"1 to the number of clients ({partition.num_clients})"
            raise ConfigError("clients_per_round", federation.clients_per_round, allowed)
        if federation.batch_size > partition.examples:
            allowed = f"1 to the size of the smallest client ({partition.examples})"
            raise ConfigError("batch_size", federation.batch_size, allowed)


def held(sizes: Sequence[int]) -> Iid | Natural:
    """Clients of the same or of different sizes, as a partition says it."""
    if min(sizes) == max(sizes):
        return Iid(num_clients=len(sizes), examples=sizes[0])
    return Natural(num_clients=len(sizes), min_examples=min(sizes))


def plain_numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values, with Python's numbers in place of NumPy's."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
