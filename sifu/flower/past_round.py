"""What a server keeps of a round: who took part, and the inner products of the updates.

With u_i = theta_i - theta^n the update of client i, every sensitivity of the round follows from the products u_i u_j:
they are as many numbers as pairs of clients, whatever the size of the model.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sifu.errors import StoreError

_AT_ONCE = 2**20  # weights of a model whose differences are taken in float64 together: memory


@dataclass(frozen=True)
class PastRound:
    """A round of a branch."""

    asked: tuple[str, ...]  # ids, by priority: the seats, then the spares
    seats: int  # how many of them are averaged
    examples: tuple[float, ...]  # the weight of each client that was asked; 0: no usable reply
    distance: tuple[float, ...]  # ||theta^{n+1} - theta_c|| of each; 0 without a reply
    step: float  # ||theta^{n+1} - theta^n||
    products: str  # u_i u_j for i <= j, float64 in base64
    total: float  # examples of all clients that were connected: as sent in the round, else as declared
    declared: Mapping[str, float]  # what each connected client without a usable reply had said of its examples
    count: int  # how many clients were connected
    known: int  # how many clients had ever joined
    absent: tuple[str, ...]  # clients that remain and were not connected
    share: float | None  # seats follow from the clients connected: max(int(share x count), least); None: fixed
    least: int
    model: str  # digest of theta^{n+1}

    @cached_property
    def gram(self) -> np.ndarray:
        """u_i u_j of all clients that were asked. [q, q] float64"""
        size = len(self.asked)
        full = np.zeros((size, size))
        full[np.triu_indices(size)] = np.frombuffer(base64.b64decode(self.products), dtype="<f8")
        return full + np.triu(full, 1).T

    @cached_property
    def place(self) -> dict[str, int]:
        """The place in line of each client that was asked."""
        return {client: place for place, client in enumerate(self.asked)}

    @cached_property
    def held(self) -> np.ndarray:
        """The weight of each client that was asked. [q] float64"""
        return np.asarray(self.examples, dtype=np.float64)

    @property
    def averaged(self) -> np.ndarray:
        """Whose updates were averaged: the seats that replied. [q] bool"""
        return (np.arange(len(self.asked)) < self.seats) & (self.held > 0)

    def examples_of(self, client: str) -> float:
        """What a client that was connected counts for in `total`: later sizes do not change the round."""
        sent = self.examples[self.place[client]] if client in self.place else 0.0
        return sent if sent > 0 else self.declared[client]

    def seats_without(self, clients: Collection[str]) -> int:
        """How many seats the round would have had without `clients`, who were connected."""
        if self.share is None:
            return self.seats
        return max(int((self.count - len(clients)) * self.share), self.least)

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    @staticmethod
    def of(fields: Mapping[str, Any]) -> PastRound:
        """The inverse of `plain`."""
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
        try:
            return PastRound(**values)
        except TypeError:
            raise StoreError("the store was written by another version of the suite: train with that one") from None


def products_of(before: np.ndarray, local: Sequence[np.ndarray]) -> np.ndarray:
    """u_i u_j of the updates of models `local` [q] of P weights each from `before` [P]. [q, q] float64"""
    gram = np.zeros((len(local), len(local)))
    for first in range(0, len(before), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        updates = np.stack([model[part] for model in local]).astype(np.float64) - before[part].astype(np.float64)
        gram += updates @ updates.T
    return gram


def packed(gram: np.ndarray) -> str:
    """The upper triangle of a symmetric matrix [q, q] as text, without any loss."""
    return base64.b64encode(gram[np.triu_indices(len(gram))].astype("<f8").tobytes()).decode()


def distance_of(one: np.ndarray, other: np.ndarray) -> float:
    """The length of the difference of two models [P], in float64."""
    square = 0.0
    for first in range(0, len(one), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        difference = one[part].astype(np.float64) - other[part].astype(np.float64)
        square += float(difference @ difference)
    return float(np.sqrt(square))
