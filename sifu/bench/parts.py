"""What the parts of a run cost next to a round of training: evaluations, replays, and what certificates need.

Each is measured for some rounds of all seeds on random images of the scenario's sizes. On a GPU the number of kernels a
round is counted as well, and those that take the most time are named: a part of many short kernels waits for others
where several jobs share the GPU.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.bench.ceilings import best_seconds
from sifu.bench.rounds import random_clients
from sifu.catalog.datasets import DATASETS
from sifu.certificate.refilled import refilled_increments
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.segment import Segment
from sifu.federation.stop import Stop
from sifu.hardware.device import device_name, workers_for
from sifu.models.flat import FlatModel, build_model
from sifu.unlearning.training_without import compared_sets, run_without

_REQUESTS, _SHARE = 3, 10  # requests of every tenth client, as in the paper's scenarios
_REPEATS = 3
_NAMED = 4  # kernels that take the most time
_LETTERS = 60  # of a kernel's name


class PartRow(NamedTuple):
    """One part; times in milliseconds per seed-round, an evaluation's per seed."""

    scenario: str
    model: str
    device: str
    seeds: int
    part: str
    ms: float
    ratio: float  # to a round of training
    kernels: float | None  # a round of all seeds; None on the CPU
    busiest: str  # kernels, with their shares of the GPU's time


def bench_parts(
    name: str, scenario: Scenario, seeds: int, device: torch.device, threads: int, rounds: int, *, by_layer: bool
) -> list[PartRow]:
    """All parts of a scenario, a training of `rounds` rounds first."""
    engine = _engine(scenario, seeds, device, threads, by_layer=by_layer)
    keys = Keys.of(range(seeds), device)
    start, everyone = engine.initial(keys), torch.ones_like(engine.clients.size, dtype=torch.bool)
    stop = Stop(None, 0, torch.full((seeds,), rounds), schedule="rare")

    def train() -> Segment:
        return engine.run(start, everyone, keys.fold("train"), stop)

    segment = train()
    sets = _sets(seeds, everyone.shape[1])
    rows = torch.arange(seeds, device=device)
    parts: dict[str, tuple[Callable[[], object], int]] = {
        "training": (train, rounds),
        "evaluation": (lambda: engine.evaluator.accuracy(start, rows, everyone), 1),
        "replay": (lambda: list(engine.walk(segment)), rounds),
        f"Psi of {len(sets)} sets": (lambda: refilled_increments(engine, segment, sets), rounds),
        "training without clients": (lambda: run_without(engine, segment, sets[0]), rounds),
    }
    found: list[PartRow] = []
    model = f"{scenario.model}, by layer" if by_layer else scenario.model
    for part, (work, count) in parts.items():
        ms = best_seconds(work, device, _REPEATS) / count / seeds * 1e3
        kernels, busiest = _kernels(work, count, device)
        ratio = ms / found[0].ms if found else 1.0
        found.append(PartRow(name, model, device_name(device), seeds, part, ms, ratio, kernels, busiest))
        print(f"{name} {model}, {seeds} seeds: {part} {ms:.3g} ms", file=sys.stderr, flush=True)
    return found


def _engine(scenario: Scenario, seeds: int, device: torch.device, threads: int, *, by_layer: bool) -> Engine:
    model = build_model(scenario.model, DATASETS[scenario.dataset.name])
    model.module.to(device)
    model = FlatModel(model.module) if by_layer else model
    clients = random_clients(scenario, seeds, device)
    return Engine(model, clients, scenario.federation, workers_for(device, threads))


def _sets(seeds: int, num_clients: int) -> list[Tensor]:
    """The sets whose Psi the answers to some requests of groups need. [S, C] each"""
    everyone, sets = torch.zeros(seeds, num_clients, dtype=torch.bool), []
    for number in range(_REQUESTS):
        clients = torch.zeros_like(everyone)
        clients[:, number::_SHARE] = True
        everyone = everyone | clients
        sets += compared_sets(clients, everyone)
    return sets


def _kernels(work: Callable[[], object], rounds: int, device: torch.device) -> tuple[float | None, str]:
    """How many kernels a round of `work` has, and which take the most time; of a GPU alone."""
    if device.type != "cuda":
        return None, ""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        work()
        torch.cuda.synchronize(device)
    return summary([(event.key, event.count, event.device_time_total) for event in profiled.key_averages()], rounds)


def summary(events: list[tuple[str, int, float]], rounds: int) -> tuple[float, str]:
    """The kernels a round, and the shares of those that take the most time: from names, calls and microseconds."""
    total = sum(time for _, _, time in events)
    longest = sorted(events, key=lambda event: -event[2])[:_NAMED]
    words = [f"{name[:_LETTERS]} {time / total:.0%}" for name, _, time in longest if time]
    return sum(calls for _, calls, _ in events) / rounds, "; ".join(words)
