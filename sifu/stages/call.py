"""A stage as it was called from the command line: what its options name, and the folder it works in."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sifu.config.blocks import block_seeds
from sifu.config.scenario import Scenario
from sifu.config.variant import Variant
from sifu.errors import ConfigError
from sifu.plan.load import default_data_root, load_scenario, load_variant
from sifu.plan.variants import method_of
from sifu.stages.block import Block
from sifu.stages.choice import chosen_values
from sifu.store.paths import stage_folder
from sifu.store.timing import timed
from sifu.unlearning.method import Method, OwnTraining


@dataclass(frozen=True)
class StageCall:
    """The options of one call of a stage."""

    stage: str
    options: argparse.Namespace

    @property
    def data_root(self) -> Path:
        return self.options.data_root or default_data_root(None)

    @property
    def seeds(self) -> range:
        return block_seeds(self.options.block)

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario with its source resolved."""
        path, download = self.options.config / "scenarios.yaml", getattr(self.options, "download", False)
        return load_scenario(path, self.options.scenario, self.data_root, download=download)

    def folder(self, part: str = "", stage: str | None = None) -> Path:
        """The folder of this stage, or of another one, for the same scenario and block."""
        options = self.options
        return stage_folder(options.results, stage or self.stage, options.scenario, options.block, part)

    def history(self, variant: str = "") -> Path:
        """The history of the scenario's training, or of a variant's own."""
        return self.folder(variant, "train") / "history.safetensors"

    def counterfactual(self) -> Path | None:
        """The scenario's training without the clients of each request; None where that has not been made."""
        path = self.folder(stage="counterfactual") / "counterfactual.safetensors"
        return path if path.exists() else None

    @cached_property
    def block(self) -> Block:
        """What every stage after `partition` works on."""
        options = self.options
        refuse_below_one("--threads", options.threads)
        partition = self.folder(stage="partition") / "partition.parquet"
        machine = (options.device, options.threads, options.precision, options.checkpoint_seconds)
        return Block(options.scenario, self.scenario, self.seeds, partition, self.data_root, *machine)

    def first_seeds(self) -> Block:
        """The block without its seeds from `--seeds-end` on."""
        block, end = self.block, self.options.seeds_end
        if end is None:
            return block
        if end <= block.seeds.start:
            raise ConfigError("--seeds-end", end, f"more than {block.seeds.start}, the block's first seed")
        return replace(block, seeds=range(block.seeds.start, min(block.seeds.stop, end)))

    @contextmanager
    def timed(self, part: str = "") -> Iterator[Path]:
        """The stage's folder; the time that was spent is written there."""
        with timed(self.folder(part)):
            yield self.folder(part)

    @contextmanager
    def at_work(self, block: Block, part: str = "") -> Iterator[tuple[Block, Path]]:
        """The block, with checkpoints and a lock, and the stage's folder."""
        with self.timed(part) as folder, block.at_work(self.stage, folder) as working:
            yield working, folder

    def variant(self, name: str) -> Variant:
        return load_variant(self.options.config / "variants.yaml", name)

    def method(self, name: str) -> Method:
        """A variant's method, with the values that its search found if it has one."""
        variant, scenario = self.variant(name), self.scenario
        if variant.search is None:
            return method_of(name, variant, scenario)
        searched = scenario.searched_as or self.options.scenario
        folder = stage_folder(self.options.results, "search", searched, variant.search.block, name)
        return method_of(name, variant, scenario, chosen_values(folder / "search.parquet", variant.search))

    def trained_for(self, method: Method) -> Block:
        """The block as the method trains it."""
        own = isinstance(method, OwnTraining)
        return replace(self.block, scenario=method.training(self.scenario)) if own else self.block  # type: ignore[attr-defined]

    def json(self, option: str) -> Any:
        """An option that is given as JSON."""
        text = getattr(self.options, option)
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise ConfigError(f"--{option}", text, "JSON") from None


def refuse_below_one(option: str, *values: int | None) -> None:
    for value in values:
        if value is not None and value < 1:
            raise ConfigError(option, value, "1 or more")
