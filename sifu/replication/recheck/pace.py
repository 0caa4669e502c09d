"""How long a round of a scenario takes on a device: a rough estimate that tells which cells are cheap."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sifu.bench.work import round_work
from sifu.catalog.datasets import DATASETS
from sifu.models.flat import build_model
from sifu.plan.load import load_scenario
from sifu.replication.recheck.rerun import needed_variants

# By docs/performance.md. Two CPU cores: the speed of the slowest network. A GPU: a seed's share of what ten seeds reach
# together, and time for launches and evaluations in every round. A seed alone does not fill it, but is faster than ten.
_FLOPS = {"cpu": 5e10, "cuda": 3e12}  # a second
_LEAST = {"cpu": 0.0, "cuda": 2e-3}  # seconds


class Pace(NamedTuple):
    """What a scenario's cells cost to run again."""

    round_seconds: float  # roughly: of one seed's round; on a GPU of one of a block of ten
    needed: tuple[str, ...] = ()  # variants that each of them needs, too


def pace_of(config: Path, scenario: str, data_root: Path, kind: str = "cpu") -> Pace:
    """The seconds of a scenario's round on a `kind` of device (cpu | cuda), and the variants that its cells need."""
    settings = load_scenario(config / "scenarios.yaml", scenario, data_root)
    model = build_model(settings.model, DATASETS[settings.dataset.name])
    partition = settings.partition
    examples = getattr(partition, "examples", None) or getattr(partition, "min_examples", None) or 1
    seconds = round_work(settings, model, int(examples)).flops / _FLOPS[kind]
    return Pace(max(seconds, _LEAST[kind]), needed_variants(settings))
