"""What several stages need of a block of seeds: its clients, its engine, its history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from sifu.catalog.datasets import DATASETS
from sifu.config.blocks import chosen_block_size
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.data.clients import load_clients, load_server_data
from sifu.data.dataset import Images, load_images
from sifu.data.test_set import load_test_set
from sifu.errors import StoreError
from sifu.federation.checkpoint import Checkpoints
from sifu.federation.engine import Engine
from sifu.federation.segment_file import read_history
from sifu.hardware.device import choose_device, device_name, workers_for
from sifu.models.flat import build_model
from sifu.plan.code_hash import code_hash
from sifu.plan.freshness import relevant_settings, stage_modules
from sifu.store.lock import locked
from sifu.store.parquet import read_table
from sifu.store.paths import UNFINISHED
from sifu.store.provenance import Provenance, provenance
from sifu.store.schemas import PARTITION
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method
from sifu.unlearning.training_without_file import read_trainings_without


@dataclass(frozen=True)
class Block:
    """Seeds of a scenario that are done together, and where and with what."""

    name: str  # of the scenario
    scenario: Scenario
    seeds: range
    partition: Path
    data_root: Path
    device: str = "cpu"
    threads: int = 2
    precision: str = "tf32"
    checkpoint_seconds: float = 60.0
    checkpoints: Checkpoints | None = None  # of the stage that is at work

    @contextmanager
    def at_work(self, stage: str, folder: Path) -> Iterator[Block]:
        """The block for a stage that writes to `folder`: it locks the folder and resumes from checkpoints.

        Checkpoints are removed when all went well.
        """
        made_by = replace(self.stamp(stage), commit="", notes="")
        kept = Checkpoints(folder / UNFINISHED, f"{made_by} {self.precision}", self.checkpoint_seconds)
        with locked(folder):
            yield replace(self, checkpoints=kept)
            kept.clear()

    def images(self) -> Images:
        """The dataset that the block's clients hold a part of."""
        return load_images(self.scenario.dataset, self.data_root)

    def engine(self, images: Images | None = None) -> Engine:
        """The engine of the block, with all its data; `images` where they have been read already."""
        device = choose_device(self.device, self.precision)
        workers = workers_for(device, self.threads)  # first: one thread loads small images faster than several
        table = read_table(self.partition, PARTITION)
        if set(table["scenario"]) != {self.name}:
            raise StoreError(f"{self.partition} is not a partition of scenario {self.name}")
        images = images or self.images()
        clients = load_clients(self.scenario, images, table, self.seeds).to(device)
        own = load_server_data(self.scenario, images, table, self.seeds)
        model = build_model(self.scenario.model, DATASETS[self.scenario.dataset.name])
        model.module.to(device)
        server_data = None if own is None else own.to(device)
        return Engine(model, clients, self.scenario.federation, workers, self.checkpoints, server_data=server_data)

    def test_set(self) -> Clients | None:
        """The test set, but for a remainder of under 100; None where the source has none."""
        found = load_test_set(self.scenario, self.images())
        return None if found is None else found.to(choose_device(self.device, self.precision))

    def pack_size(self) -> int:
        """How many tasks with these seeds are worth one batch; on the CPU just one."""
        if choose_device(self.device, self.precision).type == "cpu":
            return 1
        return max(1, chosen_block_size([self.scenario], self.device) // len(self.seeds))

    def stamp(self, stage: str, method: Method | None = None, **notes: Any) -> Provenance:
        """Where the results of a stage come from, and `notes` on them."""
        code = code_hash(*stage_modules(stage, self.scenario, type(method).__module__ if method else None))
        device = device_name(choose_device(self.device, self.precision))
        return provenance(stage, relevant_settings(stage, self.scenario, method), code, device, **notes)


def read_lineage(block: Block, engine: Engine, path: Path, without: Path | None = None) -> Lineage:
    """The lineage of a block's training, or of its first seeds if the block has fewer, from a history file.

    `without`: a file of the same training without the clients of each request, where there is one.
    """
    segment, settings = read_history(path)
    segment = segment.part(slice(0, len(block.seeds)))
    if segment.available.shape != engine.clients.size.shape:
        raise StoreError(f"{path} is the history of {tuple(segment.available.shape)} seeds and clients, not of these")
    if segment.start.shape[1] != engine.model.num_weights * block.scenario.federation.num_models:
        raise StoreError(f"{path} is the history of a model with {segment.start.shape[1]} weights, not of this one")
    if not torch.equal(segment.key_state, Keys.of(block.seeds).fold("train").state):
        raise StoreError(f"{path} is the history of other seeds than {block.seeds[0]} to {block.seeds[-1]}")
    _refuse_other_training(path, settings, relevant_settings("train", block.scenario))
    if without is None:
        return Lineage.of(engine, segment)
    runs, settings = read_trainings_without(without, segment)
    _refuse_other_training(without, settings, relevant_settings("counterfactual", block.scenario))
    return Lineage.of(engine, segment, runs)


def _refuse_other_training(path: Path, stored: dict[str, Any], ours: dict[str, Any]) -> None:
    """A history of another scenario may have the same shapes. (A sweep has fewer rounds, so that `stop` may differ.)"""
    plain = json.loads(json.dumps(ours))
    differing = [key for key, value in plain.items() if key != "stop" and stored.get(key) != value]
    if differing:
        raise StoreError(f"{path} is the history of another training: its settings of {', '.join(differing)} differ")
