"""verify: the unlearned weights of all variants -> metrics of every model. It cannot know who made them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from sifu.catalog.lookup import resolve
from sifu.catalog.metrics import METRICS
from sifu.config.partition import Backdoor
from sifu.core.keys import Keys
from sifu.core.types import Clients
from sifu.data.clients import load_checks
from sifu.data.dataset import load_images
from sifu.federation.engine import Engine
from sifu.federation.evaluation import Evaluator
from sifu.metrics.deletion_test import rate_limit, threshold, type_1, type_2
from sifu.metrics.measure import correct_answers, measured
from sifu.metrics.metric import Metric, Models, PerExample, Values
from sifu.stages.answers import CellModels, stored_answers
from sifu.stages.block import Block
from sifu.stages.call import StageCall
from sifu.stages.rows import Cell, frame
from sifu.store.parquet import read_table, write_table
from sifu.store.schemas import EXAMPLES, PARTITION, VERIFICATION
from sifu.store.schemas import METRICS as METRICS_TABLE

REFERENCE = "scratch"


def command(call: StageCall) -> None:
    """`python -m sifu verify`."""
    variants = {name: call.folder(name, "unlearn") / "weights.safetensors" for name in call.options.variants}
    with call.at_work(call.block) as (block, folder):
        run_verify(block, folder, variants=variants)


def run_verify(block: Block, folder: Path, *, variants: dict[str, Path]) -> None:
    """Writes metrics, examples and verification to `folder`; `variants` names the weights of each variant."""
    engine, stamp = block.engine(), block.stamp("verify")
    rows, example_rows = _metrics(block, engine, variants)
    write_table(folder / "metrics.parquet", METRICS_TABLE, frame(METRICS_TABLE, rows), stamp)
    examples = pd.concat(example_rows) if example_rows else frame(EXAMPLES, [])
    write_table(folder / "examples.parquet", EXAMPLES, examples, stamp)
    verified = _verification(block, engine, variants)
    write_table(folder / "verification.parquet", VERIFICATION, frame(VERIFICATION, verified), stamp)


Rows = list[dict[str, Any]]


def _metrics(block: Block, engine: Engine, variants: dict[str, Path]) -> tuple[Rows, list[pd.DataFrame]]:
    """Every metric of every cell, and values per example. Scratch comes first: only its models are kept to compare."""
    metrics: dict[str, Metric] = {name: resolve(target) for name, target in METRICS.items()}
    test = block.test_set()
    scratch: dict[Cell, Models] = {}
    rows: Rows = []
    examples: list[pd.DataFrame] = []
    for variant in sorted(variants, key=lambda name: name != REFERENCE):
        answers = [
            (answer.cell, _models(block, engine, test, answer))
            for answer in stored_answers(block, engine, variant, variants[variant])
        ]
        if variant == REFERENCE:
            scratch = dict(answers)
        for cell, models in answers:
            compared = _with_scratch(cell, models, scratch)
            for name, metric in metrics.items():
                values = metric(compared)
                rows += _metric_rows(cell, name, values, compared)
                examples += _example_rows(cell, name, values, compared)
    return rows, examples


def _models(block: Block, engine: Engine, test: Clients | None, answer: CellModels) -> Models:
    models = measured(engine, answer.weights, answer.forget, answer.forgotten, test)
    return replace(models, original=answer.original, keys=Keys.of(block.seeds).fold("metric"))


def _with_scratch(cell: Cell, models: Models, scratch: dict[Cell, Models]) -> Models:
    to_target, same_stop = (scratch.get(replace(cell, variant=REFERENCE, stop=stop)) for stop in ("target", cell.stop))
    return replace(models, scratch=to_target, scratch_same_stop=same_stop)


def _metric_rows(cell: Cell, metric: str, values: Values, models: Models) -> Rows:
    """One row a seed and subset; of a value per example the mean."""
    rows = []
    for subset, value in values.items():
        numbers = models.mean(subset, value) if isinstance(value, PerExample) else value
        rows += [
            cell.key(seed) | {"metric": metric, "subset": subset, "value": numbers[i].item()}
            for i, seed in enumerate(cell.seeds)
        ]
    return rows


def _example_rows(cell: Cell, metric: str, values: Values, models: Models) -> list[pd.DataFrame]:
    """One row an example, of the metrics that have a value for each."""
    frames = []
    for subset, value in values.items():
        if isinstance(value, PerExample):
            row, client, place = models.examples(subset).nonzero(as_tuple=True)
            columns = {"client": client, "place": place, "value": value.values[row, client, place].float()}
            numbers = {name: column.numpy() for name, column in columns.items()}
            frames.append(
                pd.DataFrame(
                    cell.key(np.array(cell.seeds)[row.numpy()]) | {"metric": metric, "subset": subset} | numbers
                )
            )
    return frames


class Check(NamedTuple):
    """What the triggers found in the models of one cell."""

    successes: Tensor  # [S, C]
    left_at: Tensor  # [S, C] the request that a client was forgotten with; 0: it remains


def _verification(block: Block, engine: Engine, variants: dict[str, Path]) -> list[dict[str, Any]]:
    """One row a cell and forgotten client; nothing in a scenario without a backdoor."""
    if block.scenario.backdoor is None:
        return []
    checks = load_checks(
        block.scenario,
        load_images(block.scenario.dataset, block.data_root),
        read_table(block.partition, PARTITION),
        block.seeds,
    ).to(engine.clients.images.device)
    evaluator = Evaluator(engine.model, checks, engine.workers)
    found: dict[Cell, Check] = {}
    for variant, path in variants.items():
        left_at = None
        for cell, weights, forget, forgotten, _ in stored_answers(block, engine, variant, path):
            if left_at is None or cell.request == 1:
                left_at = torch.zeros_like(forget, dtype=torch.int64)
            left_at = left_at.masked_fill(forget, cell.request)
            successes = correct_answers(engine, evaluator, weights, torch.arange(len(weights)))
            found[cell] = Check(successes, left_at.where(forgotten, 0))
    return [row for cell, check in found.items() for row in _check_rows(cell, check, found, block.scenario.backdoor)]


def _check_rows(cell: Cell, check: Check, found: dict[Cell, Check], backdoor: Backdoor) -> list[dict[str, Any]]:
    """The deletion test of every forgotten client, compared with how scratch answers the same triggers."""
    reference, rows = found[replace(cell, variant=REFERENCE, stop="target")], []
    for i, seed in enumerate(cell.seeds):
        who = torch.nonzero(check.left_at[i]).flatten()
        trials, counts = backdoor.held_out, check.successes[i, who].numpy()
        chance = rate_limit(int(reference.successes[i, who].sum()), trials * len(who))
        limit = threshold(trials, chance, backdoor.alpha)
        missed = type_2(trials, counts / trials, limit)
        for client, count, miss in zip(who.tolist(), counts.tolist(), missed.tolist(), strict=True):
            rows.append(
                cell.key(seed)
                | {"client": client, "left_at": int(check.left_at[i, client]), "examples": trials, "successes": count}
                | {"alpha": backdoor.alpha, "chance": chance, "threshold": limit, "accused": count >= limit}
                | {"type_1": type_1(trials, chance, limit), "type_2": miss}
            )
    return rows
