"""A federation in memory: its data, its model, its settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.federation.engine import Engine
from sifu.federation.progress import show_progress
from sifu.federation.training import Progress
from sifu.library.arrays import ImageFormat


@dataclass(frozen=True, eq=False)
class Setup:
    """What every training and every answer of a federation is made with."""

    engine: Engine
    scenario: Scenario
    seeds: tuple[int, ...]
    images: ImageFormat
    test: Clients | None
    shows_progress: bool

    @property
    def keys(self) -> Keys:
        """The random keys of the seeds."""
        return Keys.of(self.seeds, self.engine.clients.images.device)

    @contextmanager
    def progress(self, name: str) -> Iterator[Progress | None]:
        """Shows how far a training is, if that is wanted."""
        if not self.shows_progress:
            yield None
            return
        with show_progress(name, self.scenario.stop.max_rounds) as progress:
            yield progress
