"""train: a partition -> a trained federation with its whole history."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from sifu.certificate.sensitivity import accumulate, client_increments, spread_clients
from sifu.codehash import code_hash
from sifu.data import DATASETS
from sifu.data.clients import load_clients
from sifu.data.dataset import load_images
from sifu.device import choose_device, device_name, workers_for
from sifu.engine import Engine
from sifu.errors import StoreError
from sifu.history import Segment, count_work
from sifu.keys import Keys
from sifu.models.flat import build_model
from sifu.progress import show_progress
from sifu.provenance import provenance
from sifu.scenario import Scenario
from sifu.schemas import CELLS, CURVES, PARTITION, SENSITIVITY
from sifu.stages import relevant_settings, stage_modules
from sifu.stop import Stop
from sifu.store import read_table, write_segment, write_table

VARIANT = "train"  # its rows stand beside those of the methods


def build_engine(
    name: str, scenario: Scenario, seeds: range, partition: Path, *, data_root: Path, device: torch.device, threads: int
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


def run_train(
    name: str,
    scenario: Scenario,
    seeds: range,
    folder: Path,
    *,
    partition: Path,
    data_root: Path,
    device: str,
    threads: int,
) -> None:
    """Writes history, sensitivity, curves and cells to `folder`."""
    chosen = choose_device(device)
    engine = build_engine(name, scenario, seeds, partition, data_root=data_root, device=chosen, threads=threads)
    segment = train(engine, scenario, seeds, name)
    stamp = provenance(
        "train", relevant_settings("train", scenario), code_hash(*stage_modules("train", scenario)), device_name(chosen)
    )
    size = engine.clients.size.cpu()
    write_segment(folder / "history.safetensors", segment, stamp)
    write_table(folder / "sensitivity.parquet", SENSITIVITY, _sensitivity(name, scenario, seeds, segment, size), stamp)
    write_table(folder / "curves.parquet", CURVES, _curves(name, seeds, segment), stamp)
    write_table(folder / "cells.parquet", CELLS, _cells(name, scenario, seeds, segment), stamp)


def train(engine: Engine, scenario: Scenario, seeds: range, name: str) -> Segment:
    """FedAvg on all clients, from the seeds' own initial weights, until the scenario's target."""
    device = engine.clients.images.device
    keys = Keys.of(seeds, device)
    everyone = torch.ones_like(engine.clients.size, dtype=torch.bool)
    stop = Stop.at_target(scenario.stop, len(seeds))
    with show_progress(f"train {name} {seeds[0]}-{seeds[-1]}", scenario.stop.max_rounds) as progress:
        start = engine.model.init(keys)
        return engine.run(
            start, everyone, keys.fold("train"), stop, snapshot_every=scenario.snapshot_every, progress=progress
        )


def _cell(name: str, seed: int | pd.Series) -> dict[str, object]:
    return {"scenario": name, "variant": VARIANT, "seed": seed, "request": 0}


def _cells(name: str, scenario: Scenario, seeds: range, segment: Segment) -> pd.DataFrame:
    work = count_work(segment, scenario.federation.local_steps)
    measured = {"rounds": work.rounds, "client_steps": work.client_steps, "comm_floats": work.comm_floats}
    rows = [
        _cell(name, seed)
        | {"status": segment.status[i].value}
        | {key: int(values[i]) for key, values in measured.items()}
        for i, seed in enumerate(seeds)
    ]
    return pd.DataFrame(rows, columns=[column.name for column in CELLS.columns])


def _curves(name: str, seeds: range, segment: Segment) -> pd.DataFrame:
    rows = [
        _cell(name, seeds[look.seed_row])
        | {"round": look.round, "retain_accuracy": look.retain_accuracy, "forget_accuracy": look.forget_accuracy}
        for look in segment.looks
    ]
    return pd.DataFrame(rows, columns=[column.name for column in CURVES.columns])


def _sensitivity(name: str, scenario: Scenario, seeds: range, segment: Segment, size: Tensor) -> pd.DataFrame:
    """One row for each round, seed and sampled client."""
    trace = segment.trace
    increments = client_increments(segment, size, "share")  # [S, T, m]
    factor = scenario.certificate.contraction**scenario.federation.local_steps
    psi = accumulate(spread_clients(increments, trace.cohort, size.shape[1]), factor)  # [S, T + 1, C]
    kept = (trace.cohort >= 0) & segment.happened()[..., None]  # [S, T, m]
    seed_row, round_, place = kept.nonzero(as_tuple=True)
    client = trace.cohort[seed_row, round_, place]
    columns = {
        "round": round_ + 1,
        "client": client,
        "distance": trace.distance[kept],
        "update_norm": trace.update_norm[kept],
        "increment": increments[kept],
        "psi": psi[seed_row, round_ + 1, client],
    }
    seed = pd.Series((seed_row + seeds[0]).numpy())
    return pd.DataFrame(
        _cell(name, seed)
        | {
            key: values.double().numpy() if values.is_floating_point() else values.numpy()
            for key, values in columns.items()
        }
    )
