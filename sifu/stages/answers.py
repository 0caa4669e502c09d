"""The unlearned weights of a variant, checked against the block that they should be of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.core.types import Status
from sifu.errors import StoreError
from sifu.federation.engine import Engine
from sifu.stages.block import Block
from sifu.stages.rows import ORIGINAL, Cell
from sifu.store.parquet import read_table
from sifu.store.paths import stop_name
from sifu.store.schemas import CELLS
from sifu.store.tensors import read_weights
from sifu.unlearning.request import draw_requests


class CellModels(NamedTuple):
    """The models of one cell, and whom they have forgotten."""

    cell: Cell
    weights: Tensor  # [S, P]
    forget: Tensor  # [S, C] the clients of this request
    forgotten: Tensor  # [S, C] all clients forgotten so far
    original: Tensor | None  # [S, P] the model before the first request


def stored_answers(block: Block, engine: Engine, variant: str, path: Path) -> Iterator[CellModels]:
    """The answers of a variant, request by request under each stop rule; none under a rule that it was refused in."""
    tensors = read_weights(path)
    original = tensors.pop(ORIGINAL, None)
    rows = (len(block.seeds), engine.model.num_weights)
    if original is not None:
        _refuse_shape(path, ORIGINAL, original, rows)
    requests = draw_requests(block.scenario, Keys.of(block.seeds))
    stops = _stops(path, block, tensors, len(requests))
    lost = _diverged(path)
    for stop in stops:
        forgotten = torch.zeros_like(requests[0])
        for number, forget in enumerate(requests, 1):
            asked = tensors[f"{stop}/{number}/forget"]
            if asked.dtype != torch.bool or not torch.equal(asked, forget):
                raise StoreError(f"{path} forgets other clients at request {number} than these seeds and settings do")
            forgotten = forgotten | forget
            cell = Cell(block.name, variant, stop, block.seeds, number)
            weights = tensors[f"{stop}/{number}/weights"]
            _refuse_shape(path, f"{stop}/{number}", weights, rows)
            _refuse_not_finite(path, cell, weights, lost)
            yield CellModels(cell, weights, forget, forgotten, original)


def _stops(path: Path, block: Block, tensors: dict[str, Tensor], requests: int) -> list[str]:
    """The stop rules that there are answers for, each with all requests."""
    possible = {stop_name(share) for share in (None, *block.scenario.budgets)}
    stops = sorted({name.split("/")[0] for name in tensors})
    numbers = range(1, requests + 1)
    expected = {f"{stop}/{number}/{kind}" for stop in stops for number in numbers for kind in ("weights", "forget")}
    if set(tensors) != expected or not possible >= set(stops):
        raise StoreError(f"{path} does not hold the weights of {requests} requests under the scenario's stop rules")
    return stops


def _refuse_shape(path: Path, name: str, weights: Tensor, expected: tuple[int, int]) -> None:
    """Rows of a seed each; a row may hold several models side by side."""
    fits = weights.dim() == 2 and len(weights) == expected[0] and weights.shape[1] % expected[1] == 0
    if not fits or not weights.shape[1] or weights.dtype not in (torch.float32, torch.float64):
        shape = f"{weights.dtype} of shape {tuple(weights.shape)}"
        raise StoreError(f"{path}: {name} is {shape}, expected {expected[0]} rows of {expected[1]} weights")


def _diverged(path: Path) -> set[tuple[str, int, int]] | None:
    """The cells that diverged, by stop rule, request and seed, from the table next to the weights."""
    cells = path.with_name("cells.parquet")
    if not cells.exists():
        return None
    table = read_table(cells, CELLS)
    lost = table[table["status"] == Status.DIVERGED.value]
    return set(zip(lost["stop"], lost["request"], lost["seed"], strict=True))


def _refuse_not_finite(path: Path, cell: Cell, weights: Tensor, lost: set[tuple[str, int, int]] | None) -> None:
    """Weights that are not finite belong to a run that diverged."""
    rows = torch.nonzero(~weights.isfinite().all(1)).flatten().tolist()
    for seed in (cell.seeds[row] for row in rows):
        if lost is None or not any((cell.stop, number, seed) in lost for number in range(1, cell.request + 1)):
            raise StoreError(f"{path}: {cell.stop}/{cell.request} of seed {seed} is not finite, and did not diverge")
