"""The training before any request: all clients, from the seeds' own initial weights, until the scenario's target."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.segment import Segment
from sifu.federation.stop import Stop
from sifu.federation.training import Progress


def train_everyone(
    engine: Engine, scenario: Scenario, seeds: Sequence[int], progress: Progress | None = None
) -> Segment:
    """FedAvg on all clients of the engine, one training a seed."""
    return train_from(engine, scenario, Keys.of(seeds, engine.clients.images.device), progress)


def train_from(
    engine: Engine, scenario: Scenario, keys: Keys, progress: Progress | None = None, stop: Stop | None = None
) -> Segment:
    """The same for each of `keys` [S], which decide the initial model and all other draws.

    `stop`: in place of the scenario's, where rows differ in it.
    """
    everyone = torch.ones_like(engine.clients.size, dtype=torch.bool)
    stop = stop or Stop.at_target(scenario.stop, len(keys.state))
    start = engine.initial(keys)
    return engine.run(
        start, everyone, keys.fold("train"), stop, snapshot_every=scenario.snapshot_every, progress=progress
    )
