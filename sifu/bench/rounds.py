"""Milliseconds per seed-round (one aggregation round of one seed) of the engine and of the plain loop.

Both do the same work on random images of the scenario's sizes, alternating in the same process and on the same device;
the median of each is reported. The plain loop is the readable version in tests/reference.py.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from sifu.bench.ceilings import Ceilings, best_seconds
from sifu.bench.work import round_work
from sifu.catalog.datasets import DATASETS
from sifu.config.partition import Natural
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.errors import SifuError
from sifu.federation.engine import Engine
from sifu.federation.recorder import Recorder
from sifu.federation.stop import Stop
from sifu.federation.training import Training
from sifu.hardware.device import device_name, wait_for, workers_for
from sifu.models.flat import FlatModel, build_model

_REPEATS = 5
_SECONDS = 0.5  # per measurement, unless the number of rounds is given
_DRAWN_ROUNDS = 4  # rounds whose cohorts and batches the plain loop repeats


class Row(NamedTuple):
    """One line of the benchmark; times in milliseconds per seed-round."""

    scenario: str
    model: str
    device: str
    threads: int
    seeds: int
    rounds: int  # per measurement
    engine_ms: float
    plain_ms: float
    ratio: float  # how many times faster the engine is
    evaluation_ms: float  # one evaluation of all clients' data of a seed
    tflops: float  # per second: the plain loop's operations in the engine's time
    flops_share: float  # of the machine's rate in a large matrix product
    gigabytes: float  # per second: the bytes that must move at least, in the engine's time
    bytes_share: float  # of the machine's rate in a large copy
    peak_gigabytes: float | None  # of GPU memory, the data included


def bench_rounds(
    name: str,
    scenario: Scenario,
    seeds: int,
    device: torch.device,
    threads: int,
    rounds: int | None,
    best: Ceilings,
    *,
    by_layer: bool = False,
) -> Row:
    """Measure both loops on `seeds` seeds, alternating, then an evaluation; `by_layer`: see `Bench`."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    clients = random_clients(scenario, seeds, device)
    model, plain_model = (build_model(scenario.model, DATASETS[scenario.dataset.name]) for _ in range(2))
    model = FlatModel(model.module) if by_layer else model
    work = round_work(scenario, model, clients.images.shape[2])
    training = _training(model, clients, scenario, threads)
    loops = _engine_round(training), _plain_round(plain_model, clients, scenario)
    count, engine_ms, plain_ms = _alternate(*loops, seeds, device, threads, rounds)
    rows, everyone = torch.arange(seeds, device=device), torch.ones_like(clients.size, dtype=torch.bool)
    evaluation = best_seconds(lambda: training.engine.evaluator.accuracy(training.weights, rows, everyone), device)
    flops, moved = work.flops / engine_ms * 1e3, work.bytes / engine_ms * 1e3
    return Row(
        scenario=name,
        model=f"{scenario.model}, by layer" if by_layer else scenario.model,
        device=device_name(device),
        threads=threads,
        seeds=seeds,
        rounds=count,
        engine_ms=engine_ms,
        plain_ms=plain_ms,
        ratio=plain_ms / engine_ms,
        evaluation_ms=evaluation / seeds * 1e3,
        tflops=flops / 1e12,
        flops_share=flops / best.flops,
        gigabytes=moved / 1e9,
        bytes_share=moved / best.bytes,
        peak_gigabytes=torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else None,
    )


Loop = Callable[[int], None]  # runs the round with a given number


def _alternate(
    engine_round: Loop, plain_round: Loop, seeds: int, device: torch.device, threads: int, rounds: int | None
) -> tuple[int, float, float]:
    """The rounds per measurement, and the medians of both loops in milliseconds per seed-round."""
    torch.set_num_threads(threads)
    plain_round(0)  # warm-up
    for number in range(4):
        engine_round(number)
    count = rounds or max(1, round(_SECONDS / _seconds(engine_round, 2, device)))
    engine_times, plain_times = [], []
    for _ in range(_REPEATS):
        torch.set_num_threads(1)
        engine_times.append(_seconds(engine_round, count, device) / seeds * 1e3)
        torch.set_num_threads(threads)  # the plain loop has all threads for each operation
        plain_times.append(_seconds(plain_round, max(1, min(count // 4, 10)), device) * 1e3)
    torch.set_num_threads(1)
    return count, statistics.median(engine_times), statistics.median(plain_times)


def _seconds(function: Loop, rounds: int, device: torch.device) -> float:
    """Seconds per round."""
    wait_for(device)
    start = time.perf_counter()
    for number in range(rounds):
        function(number)
    wait_for(device)
    return (time.perf_counter() - start) / rounds


def random_clients(scenario: Scenario, seeds: int, device: torch.device) -> Clients:
    """Random images in the scenario's sizes; in a natural partition all clients have the minimum size."""
    spec, partition = DATASETS[scenario.dataset.name], scenario.partition
    generator = torch.Generator(device).manual_seed(0)
    examples = partition.min_examples if isinstance(partition, Natural) else partition.examples
    places = (seeds, partition.num_clients, examples)
    return Clients(
        torch.randn(*places, *spec.shape, generator=generator, device=device),
        torch.randint(spec.num_classes, places, generator=generator, device=device),
        torch.full(places[:2], examples, device=device),
    )


def _training(model: FlatModel, clients: Clients, scenario: Scenario, threads: int) -> Training:
    """A training of all seeds without an end."""
    device = clients.images.device
    model.module.to(device)
    engine = Engine(model, clients, scenario.federation, workers_for(device, threads))
    keys = Keys.of(range(clients.num_seeds), device)
    start, forever = model.init(keys), Stop(None, 0, torch.full((clients.num_seeds,), 2**60))
    recorder = Recorder(model, start, engine.places, scenario.snapshot_every)
    everyone = torch.ones_like(clients.size, dtype=torch.bool)
    return Training(engine, start, everyone, keys, forever, recorder, None)


def _engine_round(training: Training) -> Loop:
    """A round as in training: sampling, local training, averaging, recording the history."""

    def function(_: int) -> None:
        training.step()
        training.recorder.keep(training.recorder.count + 1, training.weights)

    return function


def _plain_round(model: FlatModel, clients: Clients, scenario: Scenario) -> Loop:
    """A round of one seed by the plain loop; its keyed draws are made before and do not count."""
    reference = _reference()
    device, key = clients.images.device, Keys.of([0]).rows(0)
    module = model.module.to(device)
    size, everyone = clients.size[0].tolist(), list(range(clients.num_clients))
    drawn = [reference.round_batches(key, n, size, everyone, scenario.federation) for n in range(_DRAWN_ROUNDS)]
    drawn = [{client: rows.to(device) for client, rows in batches.items()} for batches in drawn]

    def function(number: int) -> None:
        batches = drawn[number % _DRAWN_ROUNDS]
        # always from the initial weights: on random labels the loss soon becomes denormal, which is slow on a CPU
        reference.fedavg_round(module, clients.images[0], clients.labels[0], size, batches, scenario.federation)

    return function


def _reference() -> Any:
    try:
        from tests import reference
    except ImportError:
        raise SifuError("bench compares with tests/reference.py: run it from the root of a checkout") from None
    return reference
