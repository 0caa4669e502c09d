"""verify: the unlearned weights of all variants -> accuracies and gaps to scratch. It cannot know who made them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sifu.codehash import code_hash
from sifu.data.clients import normalise
from sifu.data.dataset import load_images
from sifu.device import choose_device, device_name
from sifu.engine import Engine
from sifu.evaluation import Evaluator, share
from sifu.provenance import provenance
from sifu.scenario import Scenario
from sifu.schemas import METRICS
from sifu.stages import relevant_settings, stage_modules
from sifu.stages.block import build_engine
from sifu.stages.rows import Cell, frame
from sifu.store import read_weights, write_table
from sifu.types import Clients

REFERENCE = "scratch"
Values = dict[str, Tensor]  # subset -> accuracy [S]


def run_verify(
    name: str,
    scenario: Scenario,
    seeds: range,
    folder: Path,
    *,
    variants: dict[str, Path],
    partition: Path,
    data_root: Path,
    device: str,
    threads: int,
) -> None:
    """Writes `folder`/metrics.parquet; `variants` names the weights of each variant."""
    chosen = choose_device(device)
    engine = build_engine(name, scenario, seeds, partition, data_root=data_root, device=chosen, threads=threads)
    test = _test_clients(scenario, data_root, chosen)
    rows: list[dict[str, Any]] = []
    accuracy: dict[Cell, Values] = {}
    for variant, path in variants.items():
        for cell, weights, forget, forgotten in _answers(name, variant, seeds, path):
            correct = engine.evaluator.correct(weights.to(chosen), torch.arange(len(seeds), device=chosen)).cpu()
            accuracy[cell] = _accuracies(engine, correct, forget, forgotten) | _on_test(
                engine, test, weights.to(chosen)
            )
            rows += _rows(cell, "accuracy", accuracy[cell])
            rows += _rows(cell, "client_std", {"retain": _spread(engine, correct, ~forgotten)})
    for cell, values in accuracy.items():
        for metric, stop in (("gap_to_scratch", "target"), ("gap_to_scratch_same_stop", cell.stop)):
            reference = accuracy.get(Cell(name, REFERENCE, stop, seeds, cell.request))
            if reference is not None:
                rows += _rows(cell, metric, {key: (values[key] - reference[key]).abs() for key in values})
    code = code_hash(*stage_modules("verify", scenario))
    stamp = provenance("verify", relevant_settings("verify", scenario), code, device_name(chosen))
    write_table(folder / "metrics.parquet", METRICS, frame(METRICS, rows), stamp)


def _answers(name: str, variant: str, seeds: range, path: Path) -> Iterator[tuple[Cell, Tensor, Tensor, Tensor]]:
    """For each stop rule and request: the weights, who left now, who has left so far."""
    tensors = read_weights(path)
    stops = sorted({key.split("/")[0] for key in tensors})
    for stop in stops:
        forgotten = None
        for number in range(1, sum(key.startswith(f"{stop}/") for key in tensors) // 2 + 1):
            forget = tensors[f"{stop}/{number}/forget"]
            forgotten = forget if forgotten is None else forgotten | forget
            yield Cell(name, variant, stop, seeds, number), tensors[f"{stop}/{number}/weights"], forget, forgotten


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


def _test_clients(scenario: Scenario, data_root: Path, device: torch.device) -> Clients | None:
    """The held-out set as one client; None where the source has none."""
    test = load_images(scenario.dataset, data_root).test
    if test is None:
        return None
    labels = torch.from_numpy(test.labels)
    chunk = 100  # examples a "client", so that the evaluator can cut the set into pieces
    count = len(labels) // chunk * chunk
    images = normalise(test.pixels(torch.arange(count).numpy()), scenario)
    pieces = images.unflatten(0, (1, -1, chunk)), labels[:count].view(1, -1, chunk)
    return Clients(*pieces, torch.full((1, count // chunk), chunk)).to(device)


def _on_test(engine: Engine, test: Clients | None, weights: Tensor) -> Values:
    if test is None:
        return {}
    one = torch.zeros(len(weights), dtype=torch.int64, device=weights.device)  # all seeds see the same data
    correct = Evaluator(engine.model, test, engine.workers).correct(weights, one).cpu()
    return {"test": correct.sum(1).double() / int(test.size.sum())}


def _rows(cell: Cell, metric: str, values: Values) -> list[dict[str, Any]]:
    return [
        cell.key(seed) | {"metric": metric, "subset": subset, "value": value[i].item()}
        for subset, value in values.items()
        for i, seed in enumerate(cell.seeds)
    ]
