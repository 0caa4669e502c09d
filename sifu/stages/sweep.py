"""sweep: a training's history and one method under several sigma -> rounds and accuracies after requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sifu.config.changed_scenario import limited
from sifu.core.keys import Keys
from sifu.errors import ConfigError
from sifu.federation.packing import Runner, run_together
from sifu.federation.progress import show_progress
from sifu.plan.variants import method_of
from sifu.stages.block import Block, read_lineage
from sifu.stages.call import StageCall, refuse_below_one
from sifu.stages.rows import answer_rows, frame
from sifu.store.experiment_schemas import SWEEP, SWEPT_NUMBERS
from sifu.store.parquet import write_table
from sifu.unlearning.answer_numbers import certificate_numbers, promise_numbers, spare_steps
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, OwnTraining
from sifu.unlearning.request import draw_requests
from sifu.unlearning.sequence import Answer, answer_requests, target_rule

Rows = list[dict[str, Any]]


def command(call: StageCall) -> None:
    """`python -m sifu sweep`."""
    name, rounds = call.options.variant, call.options.rounds
    refuse_below_one("--rounds", rounds)
    refuse_below_one("--requests", call.options.requests)
    block, variant = call.first_seeds(), call.variant(name)
    block = replace(block, scenario=limited(block.scenario, rounds))
    methods = {}
    for sigma in call.options.sigmas:
        changed = replace(variant, certificate=(variant.certificate or {}) | {"sigma": sigma})
        methods[sigma] = method_of(name, changed, block.scenario)
    if any(isinstance(method, OwnTraining) for method in methods.values()):
        raise ConfigError("--variant", name, "a variant that starts from the scenario's own training")
    with call.at_work(block, name) as (block, folder):
        run_sweep(block, name, methods, folder, history=call.history(), requests=call.options.requests)


def run_sweep(
    block: Block,
    variant: str,
    methods: Mapping[float, Method],
    folder: Path,
    *,
    history: Path,
    requests: int | None = None,
) -> None:
    """Writes `folder`/sweep.parquet: the first `requests` requests (None: all), to the target, under each sigma."""
    trained = read_lineage(block, block.engine(), history)
    keys = Keys.of(block.seeds, trained.engine.clients.images.device)
    forget = draw_requests(block.scenario, keys)[:requests]
    rule, stream = target_rule(block.scenario), keys.fold("unlearn")

    def task(sigma: float, method: Method) -> Callable[[Runner], Rows]:
        def work(run: Runner) -> Rows:  # rows, not answers: those would hold their histories until the end
            answers = answer_requests(method, trained, forget, block.scenario, rule, stream, None, run)
            key = {"scenario": block.name, "variant": variant, "sigma": sigma}
            return [row for answer in answers for row in _rows(answer, trained, block.seeds, key)]

        return work

    with show_progress(f"sweep {block.name} {variant}, {len(methods)} sigmas", block.scenario.stop.max_rounds) as bar:
        tasks = [task(sigma, method) for sigma, method in methods.items()]
        rows = [row for part in run_together(trained.engine, tasks, block.pack_size(), bar) for row in part]
    stamp = block.stamp("sweep", next(iter(methods.values())))
    write_table(folder / "sweep.parquet", SWEEP, frame(SWEEP, rows), stamp)


def _rows(answer: Answer, trained: Lineage, seeds: range, key: dict[str, Any]) -> Rows:
    """One row a seed: cost, end, and what a certificate is worth that relies on spare clients.

    Others are not counted: the past would have to be replayed for each sigma, and the frontier needs none of them.
    """
    found = certificate_numbers(answer) if answer.spares else promise_numbers(answer)
    found |= {"spare_steps": spare_steps(answer, trained)}
    numbers = {name: values for name, values in found.items() if name in SWEPT_NUMBERS}
    rows = answer_rows(answer, seeds, key | {"request": answer.request.number})
    return [row | {name: values[i].item() for name, values in numbers.items()} for i, row in enumerate(rows)]
