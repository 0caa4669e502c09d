"""train: a partition -> a trained federation with its whole history."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from torch import Tensor

from sifu.certificate.rules import round_factor
from sifu.certificate.sensitivity import client_increments, single_client_psi
from sifu.config.scenario import Scenario
from sifu.errors import ConfigError
from sifu.federation.engine import Engine
from sifu.federation.first_training import train_everyone
from sifu.federation.progress import show_progress
from sifu.federation.segment import Segment, count_work
from sifu.federation.segment_file import write_segment
from sifu.stages.block import Block
from sifu.stages.call import StageCall
from sifu.stages.rows import Cell, cell_rows, curve_rows
from sifu.store.parquet import write_table
from sifu.store.schemas import CELLS, CURVES, SENSITIVITY
from sifu.unlearning.method import Method, OwnTraining

VARIANT = "train"  # in tables, where methods have their variant's name


def command(call: StageCall) -> None:
    """`python -m sifu train`, for all variants or for one."""
    name = call.options.variant
    if name is None:
        with call.at_work(call.block) as (block, folder):
            run_train(block, folder)
        return
    method = call.method(name)
    if not isinstance(method, OwnTraining):
        raise ConfigError("--variant", name, "a variant whose method has a training of its own")
    with call.at_work(call.trained_for(method), name) as (block, folder):
        run_train(block, folder, variant=name, method=method)


def run_train(block: Block, folder: Path, *, variant: str = VARIANT, method: Method | None = None) -> None:
    """Writes history, curves, cells and (of plain FedAvg) sensitivity to `folder`; for one `variant` and its `method`.

    The block's scenario is then the one that the method trains with.
    """
    images = block.images()
    engine = block.engine(images)
    segment = train(engine, block.scenario, block.seeds, f"{block.name} {variant}".removesuffix(f" {VARIANT}"))
    stamp = block.stamp("train", method, images=images.counts())
    cell = Cell(block.name, variant, "target", block.seeds, 0)
    write_segment(folder / "history.safetensors", segment, stamp)
    if method is None:  # Psi is about plain averages
        rows = _sensitivity(cell, block.scenario, segment, engine.clients.size.cpu())
        write_table(folder / "sensitivity.parquet", SENSITIVITY, rows, stamp)
    write_table(folder / "curves.parquet", CURVES, curve_rows(segment, cell), stamp)
    federation = block.scenario.federation
    work = count_work(segment, federation.local_steps, num_models=federation.num_models)
    write_table(folder / "cells.parquet", CELLS, cell_rows(segment.status, work, cell), stamp)


def train(engine: Engine, scenario: Scenario, seeds: range, name: str) -> Segment:
    """FedAvg on all clients until the scenario's target, with its progress shown under `name`."""
    with show_progress(f"train {name} {seeds[0]}-{seeds[-1]}", scenario.stop.max_rounds) as progress:
        return train_everyone(engine, scenario, seeds, progress)


def _sensitivity(cell: Cell, scenario: Scenario, segment: Segment, size: Tensor) -> pd.DataFrame:
    """One row for each round, seed and sampled client."""
    trace = segment.trace
    increments = client_increments(segment, size, "share")  # [S, T, m]
    psi = single_client_psi(
        segment, size, "share", round_factor(scenario.certificate, scenario.federation)
    )  # [S, T + 1, C]
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
    numbers = {
        key: values.double().numpy() if values.is_floating_point() else values.numpy()
        for key, values in columns.items()
    }
    return pd.DataFrame(cell.key(np.array(cell.seeds)[seed_row.numpy()]) | numbers)
