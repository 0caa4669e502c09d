"""Whole trainings on real data: to the scenario's target, evaluation and history included."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import torch

from sifu.device import choose_device, device_name, wait_for
from sifu.keys import Keys
from sifu.recorder import Recorder
from sifu.scenario import Scenario
from sifu.stages.block import Block
from sifu.stages.partition import run_partition
from sifu.stop import Stop
from sifu.tensors import write_segment
from sifu.training import Training


class TrainingRow(NamedTuple):
    """A training of all seeds to their target."""

    scenario: str
    device: str
    threads: int
    seeds: int
    reached: int  # seeds that met the target
    seed_rounds: int  # rounds over all seeds
    seconds: float  # of the training, from the first draw to the last number on the host
    seed_round_ms: float
    evaluation_share: float  # of the time
    history_megabytes: float  # on disk


def bench_training(
    name: str, scenario: Scenario, seeds: int, *, device: str, precision: str, threads: int, data_root: Path
) -> TrainingRow:
    """Trains seeds 0, 1, ... once; what is compiled once for all is compiled before."""
    with tempfile.TemporaryDirectory() as folder:
        partition = Path(folder)
        run_partition(name, scenario, range(seeds), partition, data_root=data_root)
        block = Block(
            name, scenario, range(seeds), partition / "partition.parquet", data_root, device, threads, precision
        )
        place, engine = choose_device(device, precision), block.engine()
        keys = Keys.of(range(seeds), place)
        start, everyone = engine.model.init(keys), torch.ones_like(engine.clients.size, dtype=torch.bool)

        def training(stop: Stop) -> Training:
            recorder = Recorder(engine.model, start, engine.places, scenario.snapshot_every)
            return Training(engine, start, everyone, keys.fold("train"), stop, recorder, None)

        training(Stop(None, 0, torch.full((seeds,), 3))).finish()  # warm-up
        wait_for(place)
        began, run = time.perf_counter(), training(Stop.at_target(scenario.stop, seeds))
        segment = run.finish()
        seconds = time.perf_counter() - began
        write_segment(partition / "history.safetensors", segment, block.stamp("train"))
        size = (partition / "history.safetensors").stat().st_size
    rounds = int(segment.rounds.sum())
    return TrainingRow(
        name,
        device_name(place),
        threads,
        seeds,
        sum(status == "done" for status in segment.status),
        rounds,
        seconds,
        seconds / max(1, rounds) * 1e3,
        run.seconds_looking / seconds,
        size / 1e6,
    )
