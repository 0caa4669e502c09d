"""A small federation with a certificate, trained for some rounds on a grid in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sifu.config.certificate import Certificate
from sifu.config.federation import Federation
from sifu.flower.strategy import Unlearning
from tests.flower.federation import World
from tests.flower.grid import MemoryGrid

WORLD = World(Federation(clients_per_round=3, local_steps=2, batch_size=4, client_lr=0.02))
CERTIFICATE = Certificate(sigma=0.02)
NODE = 100  # of client 0; client c is node 100 + c


def trained(tmp_path: Path, rounds: int = 4, **options: Any) -> tuple[Unlearning, MemoryGrid]:
    strategy, grid = WORLD.strategy(tmp_path / "store", CERTIFICATE, **({"spares": 2} | options)), WORLD.grid()
    strategy.start(grid, WORLD.initial, num_rounds=rounds)
    return strategy, grid


def weights(strategy: Unlearning) -> np.ndarray:
    return strategy.arrays.to_numpy_ndarrays()[0]
