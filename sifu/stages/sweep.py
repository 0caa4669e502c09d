"""sweep: a training's history and one method under several sigma -> rounds and accuracies after each request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sifu.keys import Keys
from sifu.methods.method import Method
from sifu.packing import Runner, run_together
from sifu.progress import show_progress
from sifu.requests import draw_requests
from sifu.schemas import SWEEP
from sifu.stages.block import Block, open_history
from sifu.stages.rows import answer_rows, frame
from sifu.store import write_table
from sifu.unlearning import Answer, answer_requests, target_rule


def run_sweep(block: Block, variant: str, methods: Mapping[float, Method], folder: Path, *, history: Path) -> None:
    """Writes `folder`/sweep.parquet: all requests, to the target, with the variant's method under each sigma."""
    trained = open_history(block.engine(), history)
    keys = Keys.of(block.seeds, trained.engine.clients.images.device)
    leavers = draw_requests(block.scenario, keys)
    rule, stream = target_rule(block.scenario), keys.fold("unlearn")

    def task(method: Method) -> Callable[[Runner], list[Answer]]:
        return lambda run: answer_requests(method, trained, leavers, block.scenario, rule, stream, None, run)

    with show_progress(f"sweep {block.name} {variant}, {len(methods)} sigmas", block.scenario.stop.max_rounds) as bar:
        tasks = [task(method) for method in methods.values()]
        answers = run_together(trained.engine, tasks, block.pack_size(), bar)
    rows: list[dict[str, Any]] = []
    for sigma, given in zip(methods, answers, strict=True):
        for answer in given:
            key = {"scenario": block.name, "variant": variant, "sigma": sigma, "request": answer.request.number}
            rows += answer_rows(answer, block.seeds, key)
    stamp = block.stamp("sweep", next(iter(methods.values())))
    write_table(folder / "sweep.parquet", SWEEP, frame(SWEEP, rows), stamp)
