"""verify: the unlearned weights of all variants -> accuracies and gaps to scratch. It cannot know who made them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sifu.data.clients import load_checks, normalise
from sifu.data.dataset import load_images
from sifu.engine import Engine
from sifu.evaluation import Evaluator, share
from sifu.scenario import Backdoor
from sifu.schemas import METRICS, PARTITION, VERIFICATION
from sifu.stages.block import Block
from sifu.stages.rows import Cell, frame
from sifu.store import read_table, read_weights, write_table
from sifu.types import Clients
from sifu.verification import rate_limit, threshold, type_1, type_2

REFERENCE = "scratch"
Values = dict[str, Tensor]  # subset -> accuracy [S]


def run_verify(block: Block, folder: Path, *, variants: dict[str, Path]) -> None:
    """Writes `folder`/metrics.parquet; `variants` names the weights of each variant."""
    engine = block.engine()
    test = _test_clients(block, engine)
    rows: list[dict[str, Any]] = []
    accuracy: dict[Cell, Values] = {}
    for variant, path in variants.items():
        for cell, weights, forget, forgotten in _answers(block, variant, path):
            correct = engine.evaluator.correct(*_there(engine, weights, torch.arange(len(weights)))).cpu()
            accuracy[cell] = _accuracies(engine, correct, forget, forgotten) | _on_test(engine, test, weights)
            rows += _rows(cell, "accuracy", accuracy[cell])
            rows += _rows(cell, "client_std", {"retain": _spread(engine, correct, ~forgotten)})
    for cell, values in accuracy.items():
        rows += _gaps(cell, values, accuracy)
    write_table(folder / "metrics.parquet", METRICS, frame(METRICS, rows), block.stamp("verify"))
    found = _verification(block, engine, variants)
    write_table(folder / "verification.parquet", VERIFICATION, frame(VERIFICATION, found), block.stamp("verify"))


class Check(NamedTuple):
    """What the triggers found in the models of one cell."""

    successes: Tensor  # [S, C]
    left_at: Tensor  # [S, C] the request that a client left with; 0: it is still there


def _verification(block: Block, engine: Engine, variants: dict[str, Path]) -> list[dict[str, Any]]:
    """One row a cell and client that has left; nothing in a scenario without a backdoor."""
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
        for cell, weights, forget, forgotten in _answers(block, variant, path):
            if left_at is None or cell.request == 1:
                left_at = torch.zeros_like(forget, dtype=torch.int64)
            left_at = left_at.masked_fill(forget, cell.request)
            successes = evaluator.correct(*_there(engine, weights, torch.arange(len(weights)))).cpu()
            found[cell] = Check(successes, left_at.where(forgotten, 0))
    return [row for cell, check in found.items() for row in _check_rows(cell, check, found, block.scenario.backdoor)]


def _check_rows(cell: Cell, check: Check, found: dict[Cell, Check], backdoor: Backdoor) -> list[dict[str, Any]]:
    """The test of every client that has left, against how scratch answers the same triggers."""
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


def _there(engine: Engine, *tensors: Tensor) -> tuple[Tensor, ...]:
    """On the engine's device."""
    return tuple(tensor.to(engine.clients.images.device) for tensor in tensors)


def _gaps(cell: Cell, values: Values, accuracy: dict[Cell, Values]) -> list[dict[str, Any]]:
    """Absolute differences to scratch: run to its own target, and under the same stop rule."""
    rows = []
    for metric, stop in (("gap_to_scratch", "target"), ("gap_to_scratch_same_stop", cell.stop)):
        reference = accuracy.get(replace(cell, variant=REFERENCE, stop=stop))
        if reference is not None:
            rows += _rows(cell, metric, {subset: (values[subset] - reference[subset]).abs() for subset in values})
    return rows


def _answers(block: Block, variant: str, path: Path) -> Iterator[tuple[Cell, Tensor, Tensor, Tensor]]:
    """For each stop rule and request: the weights, who left now, who has left so far."""
    tensors = read_weights(path)
    stops = sorted({key.split("/")[0] for key in tensors})
    for stop in stops:
        forgotten = None
        for number in range(1, sum(key.startswith(f"{stop}/") for key in tensors) // 2 + 1):
            forget = tensors[f"{stop}/{number}/forget"]
            forgotten = forget if forgotten is None else forgotten | forget
            yield (
                Cell(block.name, variant, stop, block.seeds, number),
                tensors[f"{stop}/{number}/weights"],
                forget,
                forgotten,
            )


def _accuracies(engine: Engine, correct: Tensor, forget: Tensor, forgotten: Tensor) -> Values:
    size = engine.clients.size.cpu()
    masks = {"retain": ~forgotten, "forget": forget, "forgotten": forgotten}
    return {subset: share(correct, size, mask) for subset, mask in masks.items()}


def _spread(engine: Engine, correct: Tensor, which: Tensor) -> Tensor:
    """Standard deviation of the accuracy over the clients of a mask. [S]"""
    own = correct.double() / engine.clients.size.cpu()
    count = which.sum(1)
    mean = (own * which).sum(1) / count
    return (((own - mean[:, None]) ** 2 * which).sum(1) / count).sqrt()


def _test_clients(block: Block, engine: Engine) -> Clients | None:
    """The held-out set cut into equal "clients"; None where the source has none. A rest of under 100 is left out."""
    test = load_images(block.scenario.dataset, block.data_root).test
    if test is None:
        return None
    labels = torch.from_numpy(test.labels)
    chunk = min(100, len(labels))
    count = len(labels) // chunk * chunk
    images = normalise(test.pixels(torch.arange(count).numpy()), block.scenario)
    pieces = images.unflatten(0, (1, -1, chunk)), labels[:count].view(1, -1, chunk)
    return Clients(*pieces, torch.full((1, count // chunk), chunk)).to(engine.clients.images.device)


def _on_test(engine: Engine, test: Clients | None, weights: Tensor) -> Values:
    if test is None:
        return {}
    same = torch.zeros(len(weights), dtype=torch.int64)  # all seeds see the same data
    correct = Evaluator(engine.model, test, engine.workers).correct(*_there(engine, weights, same)).cpu()
    return {"test": correct.sum(1).double() / int(test.size.sum())}


def _rows(cell: Cell, metric: str, values: Values) -> list[dict[str, Any]]:
    return [
        cell.key(seed) | {"metric": metric, "subset": subset, "value": value[i].item()}
        for subset, value in values.items()
        for i, seed in enumerate(cell.seeds)
    ]
