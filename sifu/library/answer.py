"""The answer to a request: models that have forgotten clients, with their cost and their certificate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import index

import pandas as pd
import torch
from torch import Tensor

from sifu.config.scenario import Scenario
from sifu.errors import ConfigError
from sifu.library.models import SeedModels
from sifu.library.numbers import Accuracy, Cost, Guarantee, summary
from sifu.library.scenario import NAME
from sifu.stages.rows import Cell, cell_rows
from sifu.store.paths import stop_name
from sifu.unlearning.answer_numbers import answer_numbers, certificate_numbers
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method
from sifu.unlearning.request import client_mask
from sifu.unlearning.sequence import Answer as Answered
from sifu.unlearning.sequence import StopRule, answer_request


@dataclass(frozen=True, eq=False)
class Asked:
    """How the requests to a training are answered: by which method, and until when."""

    training: SeedModels
    method: Method
    scenario: Scenario  # with the certificate that the method promises
    stop: StopRule
    budget: float | None  # share of the training's client steps; None: until the target

    def answer(self, lineage: Lineage, clients: int | Iterable[int]) -> Answer:
        """The answer to the next request of a lineage."""
        setup = self.training.setup
        mask = _mask(clients, setup.engine.clients.num_clients).expand(len(setup.seeds), -1)  # [S, C]
        with setup.progress(f"request {len(lineage.segments)}, {self.method.name}") as progress:
            answered, grown = answer_request(
                self.method, lineage, mask, self.scenario, self.stop, setup.keys.fold("unlearn"), progress
            )
        return Answer(setup, grown, answered.work, self, answered)


@dataclass(frozen=True, repr=False, eq=False)
class Answer(SeedModels):
    """What a method made of a request to forget clients. `Training.forget` and `Answer.forget` give it."""

    asked: Asked
    answered: Answered

    def forget(self, clients: int | Iterable[int]) -> Answer:
        """Forget more clients, as the next request, by the same method with the same settings."""
        return self.asked.answer(self.lineage, clients)

    @property
    def training(self) -> SeedModels:
        """The training that the method started from: its own, if it has one (dp_fedavg)."""
        return self.asked.training

    @property
    def number(self) -> int:
        """The number of the request, from 1."""
        return self.answered.request.number

    @property
    def clients(self) -> list[int]:
        """The clients of this request."""
        return torch.nonzero(self.answered.request.forget[0]).flatten().tolist()

    @property
    def weights(self) -> Tensor:
        """The weights of each seed's model that is given out, in one row, a copy on the CPU. [S, P]"""
        return self.answered.unlearned.weights.clone()

    @cached_property
    def accuracy(self) -> Accuracy:
        """Accuracy on the remaining clients' data, on that of the forgotten clients, and on the test set."""
        request = self.answered.request
        return self._accuracy(request.forget, self.lineage.segments[0].available & ~request.remain)

    @property
    def cost(self) -> Cost:
        """What the answer took, calibration included."""
        return Cost.of(self.work, self.training.work)

    @property
    def certificate(self) -> Guarantee | None:
        """What is claimed and what holds; None where the method promises nothing."""
        numbers = certificate_numbers(self.answered)
        if not numbers:
            return None
        unknown = numbers["sigma"] * math.nan
        numbers = {"actual_epsilon": unknown, "actual_delta": unknown} | numbers
        return Guarantee(**{name: values.numpy() for name, values in numbers.items()})

    @property
    def cells(self) -> pd.DataFrame:
        """The rows of the table `cells`, one a seed (docs/results.md)."""
        asked = self.asked
        cell = Cell(NAME, asked.method.name, stop_name(asked.budget), self.seeds, self.number)
        numbers = answer_numbers(self.answered, asked.method, asked.training.lineage, asked.scenario)
        return cell_rows(self.answered.unlearned.segment.status, self.work, cell, **numbers)

    def __repr__(self) -> str:
        promised = self.certificate
        lines = {
            "status": self._ending(),
            "accuracy": self.accuracy.words(),
            "cost": self.cost.words(),
            "certificate": "nothing is promised" if promised is None else promised.words(),
        }
        title = f"Request {self.number}: {_named(self.clients)} forgotten by {self.asked.method.name}"
        return summary(title, len(self.seeds), lines)


def _named(clients: list[int]) -> str:
    """Clients in words: all of a few, the first and the last of many."""
    if len(clients) > 5:
        return f"{len(clients)} clients ({clients[0]}, {clients[1]}, ..., {clients[-1]})"
    return f"client{'s' if len(clients) > 1 else ''} {', '.join(map(str, clients))}"


def _mask(clients: int | Iterable[int], num_clients: int) -> Tensor:
    """Client numbers as a mask. [C] bool"""
    try:
        numbers = [index(one) for one in (clients if isinstance(clients, Iterable) else [clients])]
    except TypeError:
        raise ConfigError("clients", clients, f"numbers of clients, 0 to {num_clients - 1}") from None
    return client_mask(numbers, num_clients)
