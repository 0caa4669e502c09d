"""The interface of a metric.

A metric is a function from the models of one cell to one number per seed, or per example, for some subsets of the data.
It is called once for all seeds and never mixes two of them; it cannot know which method made the models. The first line
of its docstring is its entry in docs/results.md. The contract tests cover all registered metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.federation.engine import Engine

SUBSETS = ("retain", "forget", "forgotten", "test")


class PerExample(NamedTuple):
    """A value for each example: they go to the table `examples`, their mean over a subset to `metrics`."""

    values: Tensor  # [S, C, n]; of the test set [S, chunks, n], as `Models.test` has it


Values = dict[str, "Tensor | PerExample"]  # subset -> [S], or a value per example


class Logits(NamedTuple):
    """What the models answer on the examples of one client (of the test set: of one chunk)."""

    client: int
    values: Tensor  # [S, n, classes]
    labels: Tensor  # [S, n]
    counts: Tensor  # [S, n] bool: which examples exist and belong to the subset


@dataclass(frozen=True)
class Models:
    """The models of one cell, one per seed, and their answers."""

    engine: Engine  # its model and its clients' data, for metrics that need more than counts
    weights: Tensor  # [S, P]
    correct: Tensor  # [S, C] correct answers on each client's own data
    forget: Tensor  # [S, C] the clients of this request
    forgotten: Tensor  # [S, C] all clients forgotten so far
    test_accuracy: Tensor | None = None  # [S]; None where the source has no test set
    scratch: Models | None = None  # the models of scratch for the same request, run to its own target
    scratch_same_stop: Models | None = None  # the same under this cell's stop rule
    original: Tensor | None = None  # [S, P] the model before the first request
    keys: Keys | None = None  # the seeds' random keys: fold in a name of your own, then draw
    test: Clients | None = None  # the test set in chunks, the same for all seeds: images [1, chunks, n, ...]

    @property
    def size(self) -> Tensor:
        """How many examples each client has. [S, C]"""
        return self.engine.clients.size.cpu()

    @property
    def masks(self) -> dict[str, Tensor]:
        """The clients of each subset; the test set belongs to no client. [S, C] each"""
        return {"retain": ~self.forgotten, "forget": self.forget, "forgotten": self.forgotten}

    def logits(self, subset: str, weights: Tensor | None = None) -> Iterator[Logits]:
        """Answers on a subset, a client at a time; `weights` [S, P]: other models than these, such as `original`."""
        clients = self.test if subset == "test" else self.engine.clients
        if clients is None:
            return
        rows = (self.weights if weights is None else weights).to(clients.images.device)
        mask = None if subset == "test" else self.masks[subset]
        for client in range(clients.num_clients):
            if mask is None or bool(mask[:, client].any()):
                yield self._answers(rows, clients, client, None if mask is None else mask[:, client])

    def _answers(self, weights: Tensor, clients: Clients, client: int, chosen: Tensor | None) -> Logits:
        seeds = [s % clients.num_seeds for s in range(len(weights))]  # all seeds share one test set
        with torch.no_grad():
            pairs = zip(weights, seeds, strict=True)
            values = torch.stack([self.engine.model.logits(row, clients.images[s, client]) for row, s in pairs]).cpu()
        counts = clients.real()[seeds, client].cpu()  # [S, n]
        return Logits(
            client, values, clients.labels[seeds, client].cpu(), counts if chosen is None else counts & chosen[:, None]
        )

    def mean(self, subset: str, example: PerExample) -> Tensor:
        """The mean of a value per example over the examples of a subset. [S] float64"""
        chosen = self.examples(subset)
        total = example.values.double().where(chosen, 0.0).sum((1, 2))
        return total / chosen.sum((1, 2))

    def examples(self, subset: str) -> Tensor:
        """The examples of a subset. [S, C, n] bool"""
        if subset == "test":
            assert self.test is not None, "there is no test set"
            return self.test.real().cpu().expand(len(self.weights), -1, -1)
        return self.engine.clients.real().cpu() & self.masks[subset][..., None]


Metric = Callable[[Models], Values]
