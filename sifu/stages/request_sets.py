"""request_sets: a training's history and several methods -> how it goes if others ask to be forgotten."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from sifu.keys import Keys
from sifu.methods.method import Method
from sifu.progress import show_progress
from sifu.requests import draw_sets
from sifu.scenario import Scenario
from sifu.schemas import REQUEST_SETS
from sifu.stages.block import Block, open_history
from sifu.stages.rows import answer_rows, frame
from sifu.store import write_table
from sifu.unlearning import answer_requests, target_rule


class Trained(NamedTuple):
    """A variant's method, the scenario that it trains with, and the history of that training."""

    method: Method
    scenario: Scenario
    history: Path


def run_request_sets(block: Block, count: int, variants: dict[str, Trained], folder: Path) -> None:
    """Writes `folder`/request_sets.parquet: a single request of each of `count` sets of clients, to the target."""
    rows: list[dict[str, Any]] = []
    for name, (method, scenario, history) in variants.items():
        trained = open_history(replace(block, scenario=scenario).engine(), history)
        keys = Keys.of(block.seeds, trained.engine.clients.images.device)
        for number, forget in enumerate(draw_sets(block.scenario, keys, count)):
            rule, stream = target_rule(scenario), keys.fold("request set", number)
            with show_progress(f"request set {number} {block.name} {name}", scenario.stop.max_rounds) as progress:
                (answer,) = answer_requests(method, trained, [forget], scenario, rule, stream, progress)
            rows += answer_rows(answer, block.seeds, {"scenario": block.name, "variant": name, "set": number})
    write_table(folder / "request_sets.parquet", REQUEST_SETS, frame(REQUEST_SETS, rows), block.stamp("request_sets"))
