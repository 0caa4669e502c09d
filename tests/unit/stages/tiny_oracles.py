"""Twelve models a world of a tiny federation, as the stages `oracles` and `forgetting` make them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from sifu.cli.main import main
from sifu.config.scenario import Scenario
from sifu.plan.load import load_scenario
from sifu.stages.block import Block
from sifu.stages.oracle_worlds import Worlds
from tests.conftest import REPO, made_once

TINY = {
    "label": "Tiny",
    "dataset": {"name": "mnist", "source": "embedded"},
    "partition": {"kind": "iid", "num_clients": 6, "examples": 10, "seed": 0, "twins": True},
    "model": "logistic",
    "federation": {"clients_per_round": 4, "local_steps": 4, "batch_size": 10, "client_lr": 0.05},
    "stop": {"accuracy": 0.999, "min_rounds": 5, "max_rounds": 5},
    "certificate": {"sigma": 0.05},
    "requests": {"kind": "listed", "clients": [[2, 3], [0]]},
    "snapshot_every": 2,
}
VARIANTS = ("scratch", "blurred_scratch", "sifu")


@dataclass(frozen=True)
class Made:
    root: Path

    def main(self, stage: str, block: str, *options: str) -> int:
        usual = ["--scenario", "tiny", "--config", str(self.root), "--results", str(self.root / "results")]
        device = ["--device", "cpu", "--threads", "1"] if stage == "oracles" else []
        return main([stage, "--block", block, *options, *usual, *device])

    def file(self, stage: str, block: str, table: str) -> Path:
        return self.root / "results" / stage / "tiny" / block / f"{table}.parquet"


def tiny_oracles(factory: pytest.TempPathFactory) -> Made:
    """Made by the first test that asks for them."""
    return Made(made_once(factory, "oracles", _make))


def _make(root: Path) -> None:
    """12 models a world of a tiny federation, together and in two blocks."""
    (root / "scenarios.yaml").write_text(yaml.safe_dump({"tiny": TINY}))
    (root / "variants.yaml").write_text((REPO / "config" / "variants.yaml").read_text())
    found = Made(root)
    assert found.main("partition", "s000-000") == 0
    for block in ("s000-011", "s000-006", "s007-011"):
        variants = VARIANTS if block == "s000-011" else ("scratch",)
        more = ("--requests", "1", "2", "--federation", "s000-000", "--relearn-rounds", "3")
        assert found.main("oracles", block, "--variants", *variants, *more) == 0
    assert found.main("forgetting", "s000-011", "--blocks", "s000-011") == 0


def tiny(made: Made) -> Scenario:
    return load_scenario(made.root / "scenarios.yaml", "tiny", Path("data"))


def worlds(made: Made, *requests: int) -> Worlds:
    partition = made.file("partition", "s000-000", "partition")
    return Worlds(Block("tiny", tiny(made), range(1), partition, Path("data"), threads=1), requests)
