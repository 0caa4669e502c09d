"""setting_sweep: a history and a method with several values of one setting -> accuracy before and after recovery."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sifu.config.changed_scenario import limited
from sifu.core.keys import Keys
from sifu.errors import ConfigError
from sifu.federation.evaluation import share
from sifu.federation.packing import Runner, run_together
from sifu.federation.progress import show_progress
from sifu.plan.variants import method_with
from sifu.stages.block import Block, read_lineage
from sifu.stages.call import StageCall, refuse_below_one
from sifu.stages.rows import answer_rows, frame
from sifu.store.experiment_schemas import SETTING_SWEEP
from sifu.store.parquet import write_table
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, OwnTraining
from sifu.unlearning.request import draw_requests
from sifu.unlearning.sequence import Answer, answer_requests, target_rule

Rows = list[dict[str, Any]]


def command(call: StageCall) -> None:
    """`python -m sifu setting_sweep`."""
    options = call.options
    refuse_below_one("--rounds", options.rounds)
    block, variant = call.first_seeds(), call.variant(options.variant)
    block = replace(block, scenario=limited(block.scenario, options.rounds))
    methods = {
        value: method_with(options.variant, variant, block.scenario, options.setting, value) for value in options.values
    }
    if any(isinstance(method, OwnTraining) for method in methods.values()):
        raise ConfigError("--variant", options.variant, "a variant that starts from the scenario's own training")
    with call.at_work(block, options.variant) as (block, folder):
        run_setting_sweep(block, options.variant, options.setting, methods, folder, history=call.history())


def run_setting_sweep(
    block: Block, variant: str, setting: str, methods: Mapping[float, Method], folder: Path, *, history: Path
) -> None:
    """Writes `folder`/setting_sweep.parquet: the first request, to the target, with each value of the setting."""
    trained = read_lineage(block, block.engine(), history)
    keys = Keys.of(block.seeds, trained.engine.clients.images.device)
    forget = draw_requests(block.scenario, keys)[:1]
    rule, stream = target_rule(block.scenario), keys.fold("unlearn")

    def task(value: float, method: Method) -> Callable[[Runner], Rows]:
        def work(run: Runner) -> Rows:  # rows, not answers: those would hold their histories until the end
            (answer,) = answer_requests(method, trained, forget, block.scenario, rule, stream, None, run)
            key = {"scenario": block.name, "variant": variant, "setting": setting, "value": value}
            return _rows(answer, trained, block.seeds, key)

        return work

    label = f"sweep {block.name} {variant}, {len(methods)} values of {setting}"
    with show_progress(label, block.scenario.stop.max_rounds) as bar:
        tasks = [task(value, method) for value, method in methods.items()]
        rows = [row for part in run_together(trained.engine, tasks, block.pack_size(), bar) for row in part]
    stamp = block.stamp("setting_sweep", next(iter(methods.values())))
    write_table(folder / "setting_sweep.parquet", SETTING_SWEEP, frame(SETTING_SWEEP, rows), stamp)


def _rows(answer: Answer, trained: Lineage, seeds: range, key: dict[str, Any]) -> Rows:
    """One row a seed: cost and end, and what the model knew that the recovery started from."""
    rows, work = answer_rows(answer, seeds, key), answer.work.at_the_server
    before = _accuracies(trained, answer.unlearned.segment.start, answer.request.remain)
    return [
        row | {"server_steps": int(work[i])} | {name: values[i] for name, values in before.items()}
        for i, row in enumerate(rows)
    ]


def _accuracies(trained: Lineage, weights: Tensor, remain: Tensor) -> dict[str, list[float | None]]:
    """Shares of correct answers of `weights` [S, P] on the data of the clients `remain` [S, C], and of all others."""
    engine = trained.engine
    correct = engine.evaluator.correct(weights, torch.arange(len(weights), device=weights.device)).cpu()  # [S, C]
    finite, size = weights.isfinite().all(1).tolist(), engine.clients.size.cpu()
    masks = {"start_retain_accuracy": remain, "start_forget_accuracy": ~remain}
    return {
        name: [one if known else None for one, known in zip(share(correct, size, mask).tolist(), finite, strict=True)]
        for name, mask in masks.items()
    }
