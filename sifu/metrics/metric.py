"""The interface of a metric.

A metric is a function from the models of one cell to one number per seed, for some subsets of the data. It is called
once for all seeds and never mixes two of them; it cannot know which method made the models. The first line of its
docstring is its entry in docs/results.md. The contract tests cover all registered metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from sifu.federation.engine import Engine

SUBSETS = ("retain", "forget", "forgotten", "test")
Values = dict[str, Tensor]  # subset -> [S]


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

    @property
    def size(self) -> Tensor:
        """How many examples each client has. [S, C]"""
        return self.engine.clients.size.cpu()

    @property
    def masks(self) -> dict[str, Tensor]:
        """The clients of each subset; the test set belongs to no client. [S, C] each"""
        return {"retain": ~self.forgotten, "forget": self.forget, "forgotten": self.forgotten}


Metric = Callable[[Models], Values]
