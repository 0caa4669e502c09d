"""Precision: the distance of the weights from those of double precision, for every fast path of a device."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.bench.rounds import random_clients
from sifu.catalog.datasets import DATASETS
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.federation.engine import Engine
from sifu.federation.stop import Stop
from sifu.hardware.device import choose_device, device_name, workers_for
from sifu.models.flat import build_model

_SEEDS, _ROUNDS = 2, 1  # with random labels, any rounding error grows into another run after more rounds


class ParityRow(NamedTuple):
    """Distance of the weights after some rounds, relative to how far they moved in double precision on the CPU."""

    scenario: str
    model: str
    device: str
    rounds: int
    distance: float  # of the worst seed


def bench_parity(name: str, scenario: Scenario, device: str, threads: int) -> list[ParityRow]:
    """Rows for the CPU in single precision, then for the device in each of its precisions; few clients and rounds."""
    federation = replace(scenario.federation, clients_per_round=min(4, scenario.federation.clients_per_round))
    scenario = replace(scenario, federation=federation)
    clients = random_clients(scenario, _SEEDS, torch.device("cpu"))
    exact, start = _run(scenario, clients, torch.float64, torch.device("cpu"), threads)
    moved = (exact - start).norm(dim=1)  # [S]
    paths = [("cpu", "float32")] + ([("cuda", "float32"), ("cuda", "tf32")] if device == "cuda" else [])
    rows = []
    for kind, precision in paths:
        target = choose_device(kind, precision)
        final, _ = _run(scenario, clients, torch.float32, target, threads)
        distance = ((final - exact).norm(dim=1) / moved).max()
        rows.append(ParityRow(name, scenario.model, device_name(target), _ROUNDS, float(distance)))
    return rows


def _run(
    scenario: Scenario, clients: Clients, dtype: torch.dtype, device: torch.device, threads: int
) -> tuple[Tensor, Tensor]:
    """The weights at the end and at the start, in double precision. [S, P]"""
    model = build_model(scenario.model, DATASETS[scenario.dataset.name])
    model.module.to(device, dtype)
    data = Clients(clients.images.to(dtype), clients.labels, clients.size).to(device)
    engine = Engine(model, data, scenario.federation, workers_for(device, threads))
    keys = Keys.of(range(_SEEDS), device)
    start = model.init(keys).to(dtype)
    everyone = torch.ones_like(data.size, dtype=torch.bool)
    segment = engine.run(start, everyone, keys, Stop(None, 0, torch.full((_SEEDS,), _ROUNDS)))
    return segment.final.double(), segment.start.double()
