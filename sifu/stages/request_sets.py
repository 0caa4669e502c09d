"""request_sets: a training's history and several methods -> what happens if other clients ask to be forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.federation.packing import Runner, run_together
from sifu.federation.progress import show_progress
from sifu.stages.block import Block, read_lineage
from sifu.stages.call import StageCall, refuse_below_one
from sifu.stages.rows import answer_rows, frame
from sifu.store.experiment_schemas import REQUEST_SETS
from sifu.store.parquet import write_table
from sifu.unlearning.method import Method, OwnTraining
from sifu.unlearning.request import draw_sets
from sifu.unlearning.sequence import answer_requests, target_rule

Rows = list[dict[str, Any]]


class Trained(NamedTuple):
    """A variant's method, the scenario that it trains with, and the history of that training."""

    method: Method
    scenario: Scenario
    history: Path


def command(call: StageCall) -> None:
    """`python -m sifu request_sets`."""
    refuse_below_one("--count", call.options.count)
    variants = {}
    for name in call.options.variants:
        method = call.method(name)
        own = name if isinstance(method, OwnTraining) else ""
        variants[name] = Trained(method, call.trained_for(method).scenario, call.history(own))
    with call.at_work(call.first_seeds()) as (block, folder):
        run_request_sets(block, call.options.count, variants, folder)


def run_request_sets(block: Block, count: int, variants: dict[str, Trained], folder: Path) -> None:
    """Writes `folder`/request_sets.parquet: a single request of each of `count` sets of clients, to the target."""
    rows: Rows = []
    for history in dict.fromkeys(trained.history for trained in variants.values()):
        rows += _rows(block, count, {name: part for name, part in variants.items() if part.history == history})
    rows.sort(key=lambda row: (list(variants).index(row["variant"]), row["set"]))
    write_table(folder / "request_sets.parquet", REQUEST_SETS, frame(REQUEST_SETS, rows), block.stamp("request_sets"))


def _rows(block: Block, count: int, variants: dict[str, Trained]) -> Rows:
    """The rows of variants that start from the same training."""
    _, scenario, path = next(iter(variants.values()))
    trained = replace(block, scenario=scenario)
    lineage = read_lineage(trained, trained.engine(), path)
    keys = Keys.of(block.seeds, lineage.engine.clients.images.device)
    sets = draw_sets(block.scenario, keys, count)

    def task(name: str, number: int) -> Callable[[Runner], Rows]:
        stream, rule = keys.fold("request set", number), target_rule(scenario)

        def work(run: Runner) -> Rows:  # rows, not answers: those would hold their histories until the end
            method, key = variants[name].method, {"scenario": block.name, "variant": name, "set": number}
            (answer,) = answer_requests(method, lineage, [sets[number]], scenario, rule, stream, None, run)
            return answer_rows(answer, block.seeds, key)

        return work

    tasks = [task(name, number) for name in variants for number in range(len(sets))]
    label = f"request sets {block.name} {', '.join(variants)}"
    with show_progress(label, scenario.stop.max_rounds) as progress:
        return [row for part in run_together(lineage.engine, tasks, block.pack_size(), progress) for row in part]
