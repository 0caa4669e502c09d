"""What a call of `start` or `forget` works with, and how long the wrapper itself takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sifu.flower.aggregate import Asked
from sifu.flower.models import Arrays
from sifu.flower.remaining_grid import RemainingGrid
from sifu.flower.session import Session


@dataclass
class Clock:
    """Seconds of the wrapper's own work."""

    own: float = 0.0
    begun: float = field(default_factory=time.perf_counter)

    @contextmanager
    def counted(self, sign: int = 1) -> Iterator[None]:
        """Count what is done inside; with a sign of -1 take it out again: it is the inner strategy's."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.own += sign * (time.perf_counter() - begun)

    @property
    def share(self) -> float:
        """The wrapper's share of all time since it began."""
        return self.own / max(time.perf_counter() - self.begun, 1e-9)


@dataclass
class Running:
    """The open store, the grid without forgotten clients, and the round that is under way."""

    session: Session
    grid: RemainingGrid
    before: Arrays | None = None  # the model that the round began with
    asked: Asked | None = None
    clock: Clock = field(default_factory=Clock)
