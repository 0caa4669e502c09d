"""oracles: a fixed federation and methods -> margins of many models, with the clients to forget and with twins."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import Tensor

from sifu.config.blocks import block_seeds
from sifu.config.changed_scenario import limited
from sifu.config.scenario import Scenario, refuse_moving
from sifu.core.keys import Keys
from sifu.errors import MethodRefused
from sifu.federation.first_training import train_from
from sifu.federation.progress import show_progress
from sifu.federation.segment import Segment
from sifu.federation.shared_data import SharedEngine
from sifu.forgetting.relearning import CLOSE
from sifu.metrics.model_margins import model_margins
from sifu.stages.audit_plan import training_groups
from sifu.stages.block import Block
from sifu.stages.call import StageCall, refuse_below_one
from sifu.stages.kept_margins import KeptMargins
from sifu.stages.oracle_worlds import World, Worlds
from sifu.stages.rows import ORIGINAL
from sifu.store.oracle_schemas import MARGINS, POINTS, WITH_CLIENT, original_of
from sifu.store.parquet import write_table
from sifu.store.paths import UNFINISHED
from sifu.unlearning.kept import Kept
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, OwnTraining
from sifu.unlearning.rejoining import accuracy_of, rejoin
from sifu.unlearning.sequence import answer_requests, target_rule

Rows = list[dict[str, Any]]


def command(call: StageCall) -> None:
    """`python -m sifu oracles`."""
    options = call.options
    refuse_moving(options.scenario, call.scenario)
    refuse_below_one("--rounds", options.rounds)
    methods = {name: call.method(name) for name in options.variants if name != ORIGINAL}
    federation = options.federation or options.block
    partition = call.folder(stage="partition").with_name(federation) / "partition.parquet"
    with call.at_work(replace(call.block, partition=partition)) as (block, folder):
        asked = Asked(methods, tuple(options.requests), options.relearn_rounds, options.rounds)
        run_oracles(block, asked, folder, federation=block_seeds(federation))


class Asked(NamedTuple):
    """Which models are made."""

    methods: Mapping[str, Method]  # by their variants' names
    requests: tuple[int, ...] = (1,)  # after which of them
    relearn_rounds: int = 0  # at most so many with the forgotten clients back; 0: none
    rounds: int | None = None  # at most so many of a recovery; None: the scenario's maximum


def run_oracles(block: Block, asked: Asked, folder: Path, *, federation: range) -> None:
    """Writes margins of the block's seeds, and their points, to `folder`; `federation`: seeds of the partition file.

    What a job that was cut off had made of them is not made again.
    """
    worlds = Worlds(replace(block, seeds=federation[:1]), asked.requests)
    stamp = block.stamp("oracles")
    made_by = f"{replace(stamp, commit='', notes='')} {block.precision} {asked[1:]} {federation[0]}"
    kept = KeptMargins(folder / UNFINISHED, made_by, stamp)
    parts = [part for world in worlds for part in Oracles(block, worlds, world, asked, kept).parts()]
    rows = pd.concat([part for part in parts if len(part)], ignore_index=True)
    stamp = block.stamp("oracles", models=len(rows))
    write_table(folder / "points.parquet", POINTS, worlds.points.table.assign(scenario=block.name), stamp)
    write_table(folder / "margins.parquet", MARGINS, rows, stamp, row_group_size=1)


@dataclass(frozen=True)
class Oracles:
    """The models of one world."""

    block: Block
    worlds: Worlds
    world: World
    asked: Asked
    kept: KeptMargins

    def parts(self) -> list[pd.DataFrame]:
        """The rows of each variant, and of each model before the requests."""
        return [part for names in training_groups(self.methods) for part in self._group(names)]

    @property
    def methods(self) -> Mapping[str, Method]:
        return self.asked.methods

    def _group(self, names: list[str]) -> Iterator[pd.DataFrame]:
        """The models of variants that start from the same training, and the model before the requests."""
        first = self.methods[names[0]]
        original = original_of(names[0]) if isinstance(first, OwnTraining) else ORIGINAL
        labels = {name: self._label(name, self.methods[name]) for name in names} | {original: self._label(original, "")}
        if all(self.kept.has(label) for label in labels.values()):
            yield from (self.kept.read(label) for label in labels.values())
            return
        lineage, scenario, keys = self._trained(names)
        yield self.kept.get(labels[original], lambda: self._originals(original, lineage))
        for name in names:
            yield self.kept.get(labels[name], partial(self._answers, name, lineage, scenario, keys))

    def _label(self, name: str, method: object) -> str:
        """What a part is kept as: the world, and the variant with its settings."""
        return f"{self.world.name} {self.world.requests} {name} {method}"

    def _trained(self, names: list[str]) -> tuple[Lineage, Scenario, Keys]:
        first = self.methods[names[0]]
        own = isinstance(first, OwnTraining)
        scenario = first.training(self.block.scenario) if own else self.block.scenario  # type: ignore[attr-defined]
        test = self.worlds.test_data if any(self.methods[name].oracle for name in names) else None
        one = replace(self.world.engine, federation=scenario.federation, test_data=test)
        shared = SharedEngine.of(one, len(self.block.seeds))
        engine = replace(shared, history=any(_reads_the_past(self.methods[name]) for name in names))
        keys = self.world.keys(self.block.seeds)
        with show_progress(f"{self._title}, training", scenario.stop.max_rounds) as progress:
            return Lineage.of(engine, train_from(engine, scenario, keys, progress)), scenario, keys

    @property
    def _title(self) -> str:
        return f"oracles {self.block.name}, with {self.world.name}s"

    def _originals(self, name: str, lineage: Lineage) -> Rows:
        """The models before each of the requests that are asked about."""
        back, segment = (lineage if name == ORIGINAL else None), lineage.segments[0]
        rows = (self._rows(name, number, back, lineage.current, segment) for number in self.world.requests)
        return [row for some in rows for row in some]

    def _answers(self, name: str, lineage: Lineage, scenario: Scenario, keys: Keys) -> Rows:
        """The models of one variant after each request that is asked about; nothing where it is refused."""
        last, method = max(self.world.requests), self.methods[name]
        lineage = replace(lineage, engine=replace(lineage.engine, history=_reads_the_past(method)))
        forget = [mask.expand(len(self.block.seeds), -1) for mask in self.worlds.forget[:last]]
        scenario = limited(scenario, self.asked.rounds)
        try:
            with show_progress(f"{self._title}, {name}", scenario.stop.max_rounds) as progress:
                parts = (scenario, target_rule(scenario), keys.fold("unlearn"), progress)
                answers = answer_requests(method, lineage, forget, *parts)
        except MethodRefused as reason:
            print(f"{name} is refused in {self.block.name}: {reason}", file=sys.stderr)
            return []
        found = [(number, answers[number - 1].unlearned) for number in self.world.requests]
        back = None if isinstance(method, OwnTraining) else lineage
        rows = (self._rows(name, number, back, one.weights, one.segment) for number, one in found)
        return [row for some in rows for row in some]

    def _rows(self, variant: str, request: int, trained: Lineage | None, weights: Tensor, last: Segment) -> Rows:
        """A row a model, which `last` ended with; `trained`: what clients rejoin, None where the steps of that are not
        those of scratch's.
        """
        points, model = self.worlds.points, self.world.engine.model
        values, predicted = model_margins(model, weights, points.images, points.labels)  # [S, n] each
        cell = {"scenario": self.block.name, "variant": variant, "request": request, "world": self.world.name}
        ended = zip(last.status, last.rounds.tolist(), strict=True)
        ends = [{"status": status.value, "rounds": count} for status, count in ended]
        parts = zip(self.block.seeds, ends, values, predicted, self._relearned(request, trained, weights), strict=True)
        return [
            cell | {"seed": seed, "margins": row, "predicted": classes} | end | more
            for seed, end, row, classes, more in parts
        ]

    def _relearned(self, request: int, trained: Lineage | None, weights: Tensor) -> Rows:
        """How soon the clients of a request are known again when they rejoin; nothing in the twins' world."""
        seeds, rounds = self.block.seeds, self.asked.relearn_rounds
        if trained is None or not rounds or self.world.name != WITH_CLIENT:
            return [{} for _ in seeds]
        clients = self.worlds.forget[request - 1].expand(len(seeds), -1)
        remain = ~torch.stack(self.worlds.forget[:request]).any(0).expand(len(seeds), -1)
        target = accuracy_of(trained.engine, trained.current, clients) - CLOSE
        keys = self.world.keys(seeds).fold("rejoin", request)
        steps, reached = rejoin(trained.engine, weights, clients, remain, target, keys, rounds)
        pairs = zip(steps.tolist(), reached.tolist(), strict=True)
        return [{"relearn_steps": taken, "relearned": met} for taken, met in pairs]


def _reads_the_past(method: Method) -> bool:
    """Whether a method reads more of a training than its first and its last model."""
    return not method.keeps <= {Kept.START}
