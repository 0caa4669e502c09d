"""oracles: a fixed federation and methods -> margins of many models, with the clients to forget and with twins."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sifu.config.blocks import block_seeds
from sifu.config.scenario import Scenario, refuse_moving
from sifu.core.keys import Keys
from sifu.core.types import Status
from sifu.errors import MethodRefused
from sifu.federation.first_training import train_from
from sifu.federation.progress import show_progress
from sifu.federation.shared_data import SharedEngine
from sifu.forgetting.relearning import CLOSE
from sifu.metrics.model_margins import model_margins
from sifu.stages.audit_plan import training_groups
from sifu.stages.block import Block
from sifu.stages.call import StageCall
from sifu.stages.oracle_worlds import World, Worlds
from sifu.stages.rows import ORIGINAL, frame
from sifu.store.oracle_schemas import MARGINS, POINTS, WITH_CLIENT, original_of
from sifu.store.parquet import write_table
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
    methods = {name: call.method(name) for name in options.variants if name != ORIGINAL}
    federation = options.federation or options.block
    partition = call.folder(stage="partition").with_name(federation) / "partition.parquet"
    with call.at_work(replace(call.block, partition=partition)) as (block, folder):
        asked = Asked(methods, tuple(options.requests), options.relearn_rounds)
        run_oracles(block, asked, folder, federation=block_seeds(federation))


class Asked(NamedTuple):
    """Which models are made."""

    methods: Mapping[str, Method]  # by their variants' names
    requests: tuple[int, ...] = (1,)  # after which of them
    relearn_rounds: int = 0  # at most so many with the forgotten clients back; 0: none


def run_oracles(block: Block, asked: Asked, folder: Path, *, federation: range) -> None:
    """Writes margins of the block's seeds, and their points, to `folder`; `federation`: seeds of the partition file."""
    worlds = Worlds(replace(block, seeds=federation[:1]), asked.requests)
    rows = [row for world in worlds for row in Oracles(block, worlds, world, asked).rows()]
    stamp = block.stamp("oracles", models=len(rows))
    write_table(folder / "points.parquet", POINTS, worlds.points.table.assign(scenario=block.name), stamp)
    write_table(folder / "margins.parquet", MARGINS, frame(MARGINS, rows), stamp, row_group_size=1)


@dataclass(frozen=True)
class Oracles:
    """The models of one world."""

    block: Block
    worlds: Worlds
    world: World
    asked: Asked

    def rows(self) -> Rows:
        return [row for names in training_groups(self.methods) for row in self._group(names)]

    @property
    def methods(self) -> Mapping[str, Method]:
        return self.asked.methods

    def _group(self, names: list[str]) -> Iterator[dict[str, Any]]:
        """The models of variants that start from the same training, and the model before the requests."""
        first = self.methods[names[0]]
        own = isinstance(first, OwnTraining)
        scenario = first.training(self.block.scenario) if own else self.block.scenario  # type: ignore[attr-defined]
        test = self.worlds.test_data if any(self.methods[name].oracle for name in names) else None
        one = replace(self.world.engine, federation=scenario.federation, test_data=test)
        shared = SharedEngine.of(one, len(self.block.seeds))
        engine = replace(shared, history=any(_reads_the_past(self.methods[name]) for name in names))
        keys, label = self.world.keys(self.block.seeds), f"oracles {self.block.name}, with {self.world.name}s"
        with show_progress(f"{label}, training", scenario.stop.max_rounds) as progress:
            lineage = Lineage.of(engine, train_from(engine, scenario, keys, progress))
        original, back = (original_of(names[0]), None) if own else (ORIGINAL, lineage)
        for number in self.world.requests:
            yield from self._rows(original, number, back, lineage.current, lineage.segments[0].status)
        for name in names:
            yield from self._answers(name, lineage, scenario, keys, label)

    def _answers(self, name: str, lineage: Lineage, scenario: Scenario, keys: Keys, label: str) -> Rows:
        """The models of one variant after each request that is asked about; nothing where it is refused."""
        last, method = max(self.world.requests), self.methods[name]
        lineage = replace(lineage, engine=replace(lineage.engine, history=_reads_the_past(method)))
        forget = [mask.expand(len(self.block.seeds), -1) for mask in self.worlds.forget[:last]]
        try:
            with show_progress(f"{label}, {name}", scenario.stop.max_rounds) as progress:
                parts = (scenario, target_rule(scenario), keys.fold("unlearn"), progress)
                answers = answer_requests(method, lineage, forget, *parts)
        except MethodRefused as reason:
            print(f"{name} is refused in {self.block.name}: {reason}", file=sys.stderr)
            return []
        found = [(number, answers[number - 1].unlearned) for number in self.world.requests]
        back = None if isinstance(method, OwnTraining) else lineage
        rows = (self._rows(name, number, back, one.weights, one.segment.status) for number, one in found)
        return [row for some in rows for row in some]

    def _rows(
        self, variant: str, request: int, trained: Lineage | None, weights: Tensor, status: Sequence[Status]
    ) -> Rows:
        """A row a model; `trained`: what clients rejoin, None where the steps of that are not those of scratch's."""
        points, model = self.worlds.points, self.world.engine.model
        values = model_margins(model, weights, points.images, points.labels)  # [S, n]
        cell = {"scenario": self.block.name, "variant": variant, "request": request, "world": self.world.name}
        again = self._relearned(request, trained, weights)
        return [
            cell | {"seed": seed, "status": ended.value, "margins": row} | more
            for seed, ended, row, more in zip(self.block.seeds, status, values, again, strict=True)
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
