"""unlearn: a training's history and one method -> its answers to all requests, under every stop rule."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.core.types import Status
from sifu.errors import MethodRefused
from sifu.federation.progress import show_progress
from sifu.federation.segment import Work
from sifu.federation.shared_rounds import SharedRounds
from sifu.stages.block import Block, read_lineage
from sifu.stages.call import StageCall
from sifu.stages.rows import ORIGINAL, Cell, cell_rows, curve_rows, frame
from sifu.store.parquet import read_table, write_table
from sifu.store.paths import stop_name
from sifu.store.schemas import CELLS, CURVES
from sifu.store.tensors import write_weights
from sifu.unlearning.answer_numbers import answer_numbers
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, OwnTraining
from sifu.unlearning.request import draw_requests
from sifu.unlearning.same_start import MODEL, digests, fill_same_starts
from sifu.unlearning.sequence import Answer, StopRule, answer_requests, budget_rule, target_rule


def command(call: StageCall) -> None:
    """`python -m sifu unlearn`."""
    name = call.options.variant
    method = call.method(name)
    own = isinstance(method, OwnTraining)
    with call.at_work(call.trained_for(method), name) as (block, folder):
        history, training = call.history(name if own else ""), call.folder(stage="train") / "cells.parquet"
        without = None if own else call.counterfactual()
        run_unlearn(block, name, method, folder, history=history, training=training, without=without)


def run_unlearn(
    block: Block,
    variant: str,
    method: Method,
    folder: Path,
    *,
    history: Path,
    training: Path,
    without: Path | None = None,
) -> None:
    """Writes cells, curves and the unlearned weights of a variant to `folder`.

    `training` holds the cells of the training that budgets are shares of: the same for all variants, also for one with
    a `history` of its own. `without` holds that training without the clients of each request; where it is None, a
    certificate's worth is found by a replay.
    """
    engine = replace(block.engine(), shared=SharedRounds())
    if method.oracle:
        engine = replace(engine, test_data=block.test_set())
    trained = read_lineage(block, engine, history, without)
    counted = read_table(training, CELLS).set_index("seed")["client_steps"]
    steps = torch.tensor([int(counted[seed]) for seed in block.seeds])
    found: dict[float | None, list[Rows]] = {}
    for share in (None, *sorted(block.scenario.budgets, reverse=True)):  # the longer one first: its rounds are shared
        cell = Cell(block.name, variant, stop_name(share), block.seeds, 0)
        rule = target_rule(block.scenario) if share is None else budget_rule(block.scenario, share, steps)
        found[share] = _sequence(method, trained, block.scenario, rule, cell)
    cells, curves = [], []
    weights: dict[str, Tensor] = {ORIGINAL: trained.current.cpu()}
    for share in (None, *block.scenario.budgets):
        for rows, evaluations, named in found[share]:
            cells.append(rows)
            curves.append(evaluations)
            weights |= named
    stamp = block.stamp("unlearn", method)
    write_weights(folder / "weights.safetensors", weights, stamp)
    write_table(folder / "curves.parquet", CURVES, pd.concat(curves), stamp)
    filled = fill_same_starts(pd.concat(cells)).drop(columns=MODEL)  # budgets, without another replay
    write_table(folder / "cells.parquet", CELLS, filled, stamp)


Rows = tuple[pd.DataFrame, pd.DataFrame, dict[str, Tensor]]  # cells, curves, weights of one request


def _sequence(method: Method, lineage: Lineage, scenario: Scenario, rule: StopRule, cell: Cell) -> list[Rows]:
    """All requests under one stop rule."""
    start = time.monotonic()
    keys = Keys.of(cell.seeds, lineage.engine.clients.images.device)
    forget = draw_requests(scenario, keys)
    name = f"unlearn {cell.scenario} {cell.variant} {cell.stop}"
    try:
        with show_progress(name, scenario.stop.max_rounds) as progress:
            answers = answer_requests(method, lineage, forget, scenario, rule, keys.fold("unlearn"), progress)
    except MethodRefused as reason:
        print(f"{cell.variant} is refused in {cell.scenario}: {reason}", file=sys.stderr)
        return [_refused(cell, number) for number in range(1, len(forget) + 1)]
    rounds = [answer.work.rounds.tolist() for answer in answers]
    seconds = time.monotonic() - start
    print(f"{name}: rounds {rounds}, {seconds:.0f} s", file=sys.stderr)
    # of recoveries to the target: the past is replayed for it; see sifu/unlearning/same_start.py on budgets
    counted = cell.stop == stop_name(None) and scenario.count_certificates
    if counted and any(answer.unlearned.promise for answer in answers):
        print(f"{name}: replaying the past without the forgotten clients, for the certificate", file=sys.stderr)
    numbers = [answer_numbers(answer, method, lineage, scenario, counted=counted) for answer in answers]
    return [_rows(answer, columns, cell) for answer, columns in zip(answers, numbers, strict=True)]


def _rows(answer: Answer, numbers: dict[str, Tensor], cell: Cell) -> Rows:
    segment = answer.unlearned.segment
    one = replace(cell, request=answer.request.number)
    name = f"{one.stop}/{one.request}"
    rows = cell_rows(segment.status, answer.work, one, **numbers).assign(**{MODEL: digests(answer.unlearned)})
    weights = {f"{name}/weights": answer.unlearned.weights, f"{name}/forget": answer.request.forget.contiguous()}
    return rows, curve_rows(segment, one), weights


def _refused(cell: Cell, number: int) -> Rows:
    """Every planned cell has a row, also that of a method that does not apply."""
    one = replace(cell, request=number)
    nothing = torch.zeros(len(cell.seeds), dtype=torch.int64)
    status = [Status.REFUSED] * len(cell.seeds)
    rows = cell_rows(status, Work(nothing, nothing, nothing), one)
    return rows.assign(**{MODEL: None}), frame(CURVES, []), {}
