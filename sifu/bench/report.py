"""`python -m sifu bench`: runs the benchmarks and prints them as tables or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from sifu.bench.ceilings import Ceilings, measure_ceilings
from sifu.bench.parity import ParityRow, bench_parity
from sifu.bench.parts import PartRow, bench_parts
from sifu.bench.planning import PlanningRow, bench_planning
from sifu.bench.rounds import Row, bench_rounds
from sifu.bench.trainings import TrainingRow, bench_training
from sifu.catalog.models import MODELS
from sifu.config.fields import build
from sifu.config.scenario import Scenario
from sifu.errors import ConfigError, did_you_mean
from sifu.hardware.device import choose_device, device_name
from sifu.plan.load import load_scenario, read_yaml
from sifu.store.provenance import commit

SCENARIOS = Path("config/scenarios.yaml")
_ROUNDS_OF_PARTS = 50


@dataclass(frozen=True)
class Bench:
    """What to measure, and where."""

    scenarios: list[str]
    seeds: list[int]
    device: str
    precision: str
    threads: int
    rounds: int | None
    train: list[str]
    parity: bool
    data_root: Path
    models: list[str] = field(default_factory=list)  # in place of the scenario's own
    by_layer: bool = False  # without a network's own kernels: as a model that has none
    plan: list[int] = field(default_factory=list)  # cells of plans to make
    parts: bool = False  # also the parts of a run next to its rounds

    def run(self) -> dict[str, Any]:
        """All results, in plain data."""
        device = choose_device(self.device, self.precision)
        ceilings = measure_ceilings(device, self.threads)
        rounds = [
            _told(
                bench_rounds(name, scenario, count, device, self.threads, self.rounds, ceilings, by_layer=self.by_layer)
            )
            for name in self.scenarios
            for scenario in self._with_models(name)
            for count in self.seeds
        ]
        trainings = [self._train(name, count) for name in self.train for count in self.seeds]
        parity = [row for name in self.scenarios if self.parity for row in self._parity(name, device.type)]
        choose_device(self.device, self.precision)  # parity has changed it
        return {
            "commit": commit(),
            "device": device_name(device),
            "threads": self.threads,
            "ceilings": ceilings._asdict(),
            "rounds": [row._asdict() for row in rounds],
            "trainings": [row._asdict() for row in trainings],
            "parity": [row._asdict() for row in parity],
            "parts": [row._asdict() for row in self._parts(device)],
            "planning": [bench_planning(cells)._asdict() for cells in self.plan],
        }

    def _with_models(self, name: str) -> list[Scenario]:
        """The scenario, or the same with each of the models."""
        scenario = _scenario(name)
        return [replace(scenario, model=model) for model in self.models] or [scenario]

    def _parts(self, device: torch.device) -> list[PartRow]:
        """The parts of every scenario, over some rounds."""
        rounds = self.rounds or (_ROUNDS_OF_PARTS if device.type == "cuda" else 2)
        return [
            row
            for name in self.scenarios
            if self.parts
            for scenario in self._with_models(name)
            for count in self.seeds
            for row in bench_parts(name, scenario, count, device, self.threads, rounds, by_layer=self.by_layer)
        ]

    def _train(self, name: str, seeds: int) -> TrainingRow:
        scenario = load_scenario(SCENARIOS, name, self.data_root)
        return bench_training(
            name,
            scenario,
            seeds,
            device=self.device,
            precision=self.precision,
            threads=self.threads,
            data_root=self.data_root,
        )

    def _parity(self, name: str, kind: str) -> list[ParityRow]:
        return bench_parity(name, _scenario(name), kind, self.threads)


def _told(row: Row) -> Row:
    """The row, of which a line is printed: a measurement of many takes minutes."""
    times = f"{row.engine_ms:.3g} ms a seed-round, plain loop {row.plain_ms:.3g}, evaluation {row.evaluation_ms:.3g}"
    print(f"{row.scenario} {row.model}, {row.seeds} seeds: {times}", file=sys.stderr, flush=True)
    return row


def _scenario(name: str) -> Scenario:
    scenarios = read_yaml(SCENARIOS)
    if name not in scenarios:
        raise ConfigError("--scenarios", name, f"one of {', '.join(scenarios)}", did_you_mean(name, scenarios))
    return build(Scenario, scenarios[name], f"scenarios.{name}")


def print_bench(bench: Bench, *, as_json: bool) -> None:
    for name in [*bench.scenarios, *bench.train]:
        _scenario(name)  # refuse an unknown name before anything is measured
    for model in bench.models:
        if model not in MODELS:
            raise ConfigError("--models", model, f"one of {', '.join(MODELS)}", did_you_mean(model, MODELS))
    results = bench.run()
    if as_json:
        print(json.dumps(results, indent=1))
    else:
        print_tables(results)


def print_tables(results: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    best = Ceilings(**results["ceilings"])
    console = Console()
    console.print(
        f"{results['device']}, {results['threads']} threads; ceilings measured now: "
        f"{best.flops / 1e12:.2f} TFLOP/s, {best.bytes / 1e9:.0f} GB/s"
    )
    titles = {
        "rounds": ("a seed-round", Row),
        "trainings": ("trainings", TrainingRow),
        "parity": ("parity", ParityRow),
        "parts": ("parts of a run", PartRow),
        "planning": ("planning, in processor time", PlanningRow),
    }
    for key, (title, kind) in titles.items():
        rows = [kind(**row) for row in results.get(key, [])]
        if rows:
            header, *lines = table_lines(rows)
            table = Table(*header, title=title)
            for line in lines:
                table.add_row(*line)
            console.print(table)


_HEADERS = {
    Row: (
        "scenario",
        "model",
        "seeds",
        "engine ms",
        "plain ms",
        "ratio",
        "evaluation ms",
        "TFLOP/s",
        "GB/s",
        "peak GB",
    ),
    TrainingRow: ("scenario", "seeds", "reached", "seed-rounds", "s", "ms a seed-round", "evaluation", "history MB"),
    ParityRow: ("scenario", "model", "device", "rounds", "distance to double precision"),
    PartRow: ("scenario", "model", "seeds", "part", "ms a seed-round", "ratio", "kernels a round", "busiest"),
    PlanningRow: ("cells", "jobs", "s", "ms a job", "peak MB"),
}


def table_lines(rows: Sequence[NamedTuple]) -> list[tuple[str, ...]]:
    """A header, then one line per row, as text."""
    return [_HEADERS[type(rows[0])], *(_line(row) for row in rows)]


def _line(row: Any) -> tuple[str, ...]:
    if isinstance(row, PartRow):
        kernels = "-" if row.kernels is None else f"{row.kernels:,.0f}"
        numbers = f"{row.ms:.3g}", f"{row.ratio:.2f}", kernels, row.busiest or "-"
        return row.scenario, row.model, str(row.seeds), row.part, *numbers
    if isinstance(row, Row):
        times = (row.engine_ms, row.plain_ms)
        peak = "-" if row.peak_gigabytes is None else f"{row.peak_gigabytes:.1f}"
        rates = (f"{row.tflops:.3g} ({row.flops_share:.0%})", f"{row.gigabytes:.3g} ({row.bytes_share:.0%})")
        return (
            row.scenario,
            row.model,
            str(row.seeds),
            *(f"{value:.3g}" for value in times),
            f"{row.ratio:.1f}",
            f"{row.evaluation_ms:.3g}",
            *rates,
            peak,
        )
    if isinstance(row, TrainingRow):
        return (
            row.scenario,
            str(row.seeds),
            f"{row.reached} of {row.seeds}",
            str(row.seed_rounds),
            f"{row.seconds:.1f}",
            f"{row.seed_round_ms:.3g}",
            f"{row.evaluation_share:.0%}",
            f"{row.history_megabytes:.0f}",
        )
    if isinstance(row, PlanningRow):
        return (str(row.cells), str(row.jobs), f"{row.seconds:.0f}", f"{row.job_ms:.2g}", f"{row.megabytes:.0f}")
    return (row.scenario, row.model, row.device, str(row.rounds), f"{row.distance:.1e}")
