"""How long a round of a scenario takes on a device: enough to tell cells that are cheap from those that are not."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sifu.bench.work import round_work
from sifu.catalog.datasets import DATASETS
from sifu.models.flat import build_model
from sifu.plan.load import load_scenario
from sifu.replication.recheck.rerun import run_beside

# By docs/performance.md. Of two CPU cores: the slowest network's. Of a GPU: a seed's share of what ten have together,
# and time for launches and looks in every round. A seed alone does not fill it, but is faster than ten.
_FLOPS = {"cpu": 5e10, "cuda": 3e12}  # a second
_LEAST = {"cpu": 0.0, "cuda": 2e-3}  # seconds


class Pace(NamedTuple):
    """What a scenario's cells cost to run again."""

    round_seconds: float  # roughly: of one seed's round; on a GPU of one of a block of ten
    beside: tuple[str, ...] = ()  # variants that each of them needs


def pace_of(config: Path, scenario: str, data_root: Path, kind: str = "cpu") -> Pace:
    """`kind` of device: cpu | cuda."""
    found = load_scenario(config / "scenarios.yaml", scenario, data_root)
    model = build_model(found.model, DATASETS[found.dataset.name])
    examples = getattr(found.partition, "examples", None) or getattr(found.partition, "min_examples", None) or 1
    seconds = round_work(found, model, int(examples)).flops / _FLOPS[kind]
    return Pace(max(seconds, _LEAST[kind]), run_beside(found))
