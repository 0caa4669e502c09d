"""Speed: milliseconds a seed-round (one aggregation round of one seed) of the engine and of the plain loop.

Both do the same work on random images of the scenario's sizes, one after the other in the same process, and keep
alternating; the median of each is reported. The plain loop is the readable twin in tests/reference.py.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from sifu.config import read_yaml
from sifu.data import DATASETS
from sifu.device import choose_device, device_name, workers_for
from sifu.engine import Engine
from sifu.errors import ConfigError, SifuError
from sifu.keys import Keys
from sifu.models.flat import FlatModel, build_model
from sifu.recorder import Recorder
from sifu.scenario import Scenario
from sifu.settings import build
from sifu.stop import Stop
from sifu.training import Training
from sifu.types import Clients

_REPEATS = 5
_SECONDS = 0.5  # of work a measurement, unless told otherwise
_DRAWN_ROUNDS = 20  # whose cohorts and batches the plain loop walks through again and again


class Row(NamedTuple):
    """One line of the benchmark; times in milliseconds a seed-round."""

    scenario: str
    model: str
    device: str
    threads: int
    seeds: int
    rounds: int  # a measurement
    engine_ms: float
    plain_ms: float
    ratio: float  # how many times faster the engine is


def print_bench(
    names: list[str], seeds: list[int], *, device: str, threads: int, rounds: int | None, as_json: bool
) -> None:
    scenarios = read_yaml(Path("config/scenarios.yaml"))
    for name in names:
        if name not in scenarios:
            raise ConfigError("--scenarios", name, f"one of {', '.join(scenarios)}")
    rows = [
        bench_scenario(name, build(Scenario, scenarios[name], f"scenarios.{name}"), count, device, threads, rounds)
        for name in names
        for count in seeds
    ]
    if as_json:
        print(json.dumps([row._asdict() for row in rows], indent=1))
    else:
        _print_table(rows)


def bench_scenario(name: str, scenario: Scenario, seeds: int, device: str, threads: int, rounds: int | None) -> Row:
    """Both loops on `seeds` seeds, alternating."""
    place = choose_device(device)
    model = build_model(scenario.model, DATASETS[scenario.dataset.name])
    clients = _random_clients(scenario, seeds)
    engine_round = _engine_round(model, clients.to(place), scenario, threads)
    plain_round = _plain_round(model, clients, scenario)
    torch.set_num_threads(threads)
    plain_round(0)  # warm-up
    engine_round(0)
    count = rounds or max(1, round(_SECONDS / _seconds(engine_round, 2)))
    engine_times, plain_times = [], []
    for _ in range(_REPEATS):
        torch.set_num_threads(1)
        engine_times.append(_seconds(engine_round, count) / seeds * 1e3)
        torch.set_num_threads(threads)  # the plain loop has all threads for each operation
        plain_times.append(_seconds(plain_round, max(1, count // 4)) * 1e3)
    engine_ms, plain_ms = statistics.median(engine_times), statistics.median(plain_times)
    return Row(
        name, scenario.model, device_name(place), threads, seeds, count, engine_ms, plain_ms, plain_ms / engine_ms
    )


def _seconds(function: Callable[[int], None], rounds: int) -> float:
    """Seconds a round."""
    start = time.perf_counter()
    for number in range(rounds):
        function(number)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / rounds


def _random_clients(scenario: Scenario, seeds: int) -> Clients:
    spec, partition = DATASETS[scenario.dataset.name], scenario.partition
    generator = torch.Generator().manual_seed(0)
    places = (seeds, partition.num_clients, partition.examples)
    return Clients(
        torch.randn(*places, *spec.shape, generator=generator),
        torch.randint(spec.num_classes, places, generator=generator),
        torch.full(places[:2], partition.examples),
    )


def _engine_round(model: FlatModel, clients: Clients, scenario: Scenario, threads: int) -> Callable[[int], None]:
    """A round as training runs it: sampling, local training, averaging, recording the history."""
    device = clients.images.device
    model.module.to(device)
    engine = Engine(model, clients, scenario.federation, workers_for(device, threads))
    keys = Keys.of(range(clients.num_seeds), device)
    everyone = torch.ones_like(clients.size, dtype=torch.bool)
    start, forever = model.init(keys), Stop(None, 0, torch.full((len(keys.state),), 2**60))
    recorder = Recorder(model, start, engine.places, scenario.snapshot_every)
    training = Training(engine, start, everyone, keys, forever, recorder, None)
    done = 0

    def function(number: int) -> None:
        nonlocal done
        done += 1
        training.step()
        recorder.keep(done, training.weights)

    return function


def _plain_round(model: FlatModel, clients: Clients, scenario: Scenario) -> Callable[[int], None]:
    """A round of one seed by the plain loop, on the CPU; its keyed draws are made beforehand and cost it nothing."""
    reference = _reference()
    key = Keys.of([0]).rows(0)
    state = {"module": model.module.to("cpu")}
    size, everyone = clients.size[0].tolist(), list(range(clients.num_clients))
    drawn = [reference.round_batches(key, n, size, everyone, scenario.federation) for n in range(_DRAWN_ROUNDS)]

    def function(number: int) -> None:
        batches = drawn[number % _DRAWN_ROUNDS]
        state["module"], _ = reference.fedavg_round(
            state["module"], clients.images[0], clients.labels[0], size, batches, scenario.federation
        )

    return function


def _reference() -> Any:
    try:
        from tests import reference
    except ImportError:
        raise SifuError("bench compares with tests/reference.py: run it from the root of a checkout") from None
    return reference


def _print_table(rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("scenario", "model", "seeds", "engine ms", "plain ms", "ratio")
    table.title = f"a seed-round on {rows[0].device}, {rows[0].threads} threads"
    for row in rows:
        times = (f"{value:.2f}" for value in (row.engine_ms, row.plain_ms, row.ratio))
        table.add_row(row.scenario, row.model, str(row.seeds), *times)
    Console().print(table)
