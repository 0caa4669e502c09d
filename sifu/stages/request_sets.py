"""request_sets: a training's history and several methods -> how it goes if others ask to be forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from sifu.keys import Keys
from sifu.methods.method import Method
from sifu.packing import Runner, run_together
from sifu.progress import show_progress
from sifu.requests import draw_sets
from sifu.scenario import Scenario
from sifu.schemas import REQUEST_SETS
from sifu.stages.block import Block, open_history
from sifu.stages.rows import answer_rows, frame
from sifu.store import write_table
from sifu.unlearning import Answer, answer_requests, target_rule


class Trained(NamedTuple):
    """A variant's method, the scenario that it trains with, and the history of that training."""

    method: Method
    scenario: Scenario
    history: Path


def run_request_sets(block: Block, count: int, variants: dict[str, Trained], folder: Path) -> None:
    """Writes `folder`/request_sets.parquet: a single request of each of `count` sets of clients, to the target."""
    answers: dict[tuple[str, int], Answer] = {}
    for history in dict.fromkeys(trained.history for trained in variants.values()):
        sharing = {name: trained for name, trained in variants.items() if trained.history == history}
        answers |= _answers(block, count, sharing)
    rows: list[dict[str, Any]] = []
    for name, number in sorted(answers, key=lambda at: (list(variants).index(at[0]), at[1])):
        key = {"scenario": block.name, "variant": name, "set": number}
        rows += answer_rows(answers[name, number], block.seeds, key)
    write_table(folder / "request_sets.parquet", REQUEST_SETS, frame(REQUEST_SETS, rows), block.stamp("request_sets"))


def _answers(block: Block, count: int, variants: dict[str, Trained]) -> dict[tuple[str, int], Answer]:
    """The answers of variants that start from the same training, by variant and set."""
    _, scenario, path = next(iter(variants.values()))
    history = open_history(replace(block, scenario=scenario).engine(), path)
    keys = Keys.of(block.seeds, history.engine.clients.images.device)
    sets = draw_sets(block.scenario, keys, count)

    def task(method: Method, number: int) -> Callable[[Runner], Answer]:
        stream, rule = keys.fold("request set", number), target_rule(scenario)
        return lambda run: answer_requests(method, history, [sets[number]], scenario, rule, stream, None, run)[0]

    tasks = {(name, n): task(trained.method, n) for name, trained in variants.items() for n in range(len(sets))}
    label = f"request sets {block.name} {', '.join(variants)}"
    with show_progress(label, scenario.stop.max_rounds) as progress:
        answers = run_together(history.engine, list(tasks.values()), block.pack_size(), progress)
    return dict(zip(tasks, answers, strict=True))
