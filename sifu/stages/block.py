"""What several stages need of a block of seeds: its clients, its engine, its history."""

from __future__ import annotations

from pathlib import Path

import torch

from sifu.data import DATASETS
from sifu.data.clients import load_clients
from sifu.data.dataset import load_images
from sifu.device import workers_for
from sifu.engine import Engine
from sifu.errors import StoreError
from sifu.lineage import History
from sifu.models.flat import build_model
from sifu.scenario import Scenario
from sifu.schemas import PARTITION
from sifu.store import read_segment, read_table


def build_engine(
    name: str,
    scenario: Scenario,
    seeds: range,
    partition: Path,
    *,
    data_root: Path,
    device: torch.device,
    threads: int,
) -> Engine:
    """The engine of a block of seeds, with all its data."""
    table = read_table(partition, PARTITION)
    if set(table["scenario"]) != {name}:
        raise StoreError(f"{partition} is not a partition of scenario {name}")
    images = load_images(scenario.dataset, data_root)
    clients = load_clients(scenario, images, table, seeds).to(device)
    model = build_model(scenario.model, DATASETS[scenario.dataset.name])
    model.module.to(device)
    return Engine(model, clients, scenario.federation, workers_for(device, threads))


def open_history(engine: Engine, path: Path) -> History:
    """The training of a block, ready to be gone back into."""
    segment = read_segment(path)
    if segment.available.shape != engine.clients.size.shape:
        raise StoreError(f"{path} is the history of {tuple(segment.available.shape)} seeds and clients, not of these")
    return History.of(engine, segment)
