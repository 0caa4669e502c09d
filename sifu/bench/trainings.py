"""Complete trainings on real data: to the scenario's target, evaluation and history included."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.federation.recorder import Recorder
from sifu.federation.segment import Segment
from sifu.federation.segment_file import write_segment
from sifu.federation.stop import Stop
from sifu.federation.training import Training
from sifu.hardware.device import choose_device, device_name, wait_for
from sifu.stages.block import Block
from sifu.stages.partition import run_partition

_REPEATS = 3
_SHORT = 3.0  # seconds


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
    evaluation_share: float  # of the time: what the same rounds save without evaluations
    history_megabytes: float  # on disk


class NoEvaluation:
    """An evaluator that computes nothing, to measure the cost of evaluations."""

    def accuracy(self, weights: Tensor, seeds: Tensor, available: Tensor) -> Tensor:
        return torch.full((len(weights), 2), torch.nan, dtype=torch.float64, device=weights.device)


def _timed(training: Callable[[], Training], device: torch.device) -> tuple[float, Segment]:
    """Seconds of a training, and its history. A short training is repeated, and the best time counts."""
    best = math.inf
    for _ in range(_REPEATS):
        wait_for(device)
        began = time.perf_counter()
        segment = training().finish()
        best = min(best, time.perf_counter() - began)
        if best > _SHORT:
            break
    return best, segment


def bench_training(
    name: str, scenario: Scenario, seeds: int, *, device: str, precision: str, threads: int, data_root: Path
) -> TrainingRow:
    """Train seeds 0, 1, ... after a warm-up that compiles kernels."""
    with tempfile.TemporaryDirectory() as folder:
        partition = Path(folder)
        run_partition(name, scenario, range(seeds), partition, data_root=data_root)
        block = Block(
            name, scenario, range(seeds), partition / "partition.parquet", data_root, device, threads, precision
        )
        target, engine = choose_device(device, precision), block.engine()
        keys = Keys.of(range(seeds), target)
        start, everyone = engine.model.init(keys), torch.ones_like(engine.clients.size, dtype=torch.bool)

        def training(stop: Stop, evaluator: Any = None) -> Training:
            recorder = Recorder(engine.model, start, engine.places, scenario.snapshot_every)
            run = Training(engine, start, everyone, keys.fold("train"), stop, recorder, None)
            run.evaluator = evaluator or run.evaluator
            return run

        training(Stop(None, 0, torch.full((seeds,), 3))).finish()  # warm-up
        seconds, segment = _timed(lambda: training(Stop.at_target(scenario.stop, seeds)), target)
        without, _ = _timed(lambda: training(Stop(None, 0, segment.rounds), NoEvaluation()), target)
        write_segment(partition / "history.safetensors", segment, block.stamp("train"))
        size = (partition / "history.safetensors").stat().st_size
    rounds = int(segment.rounds.sum())
    return TrainingRow(
        name,
        device_name(target),
        threads,
        seeds,
        sum(status == "done" for status in segment.status),
        rounds,
        seconds,
        seconds / max(1, rounds) * 1e3,
        max(0.0, 1 - without / seconds),
        size / 1e6,
    )
