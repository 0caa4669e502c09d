"""alpha: a training's history -> how much some clients moved it, measured, next to every bound."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from sifu.certificate.alpha import measure_alpha
from sifu.certificate.rules import PRESETS, Rules, round_factor
from sifu.core.keys import Keys
from sifu.federation.progress import show_progress
from sifu.federation.segment import Segment
from sifu.stages.block import Block, read_lineage
from sifu.stages.call import StageCall
from sifu.stages.rows import frame
from sifu.store.experiment_schemas import ALPHA
from sifu.store.parquet import write_table
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.request import draw_requests


def command(call: StageCall) -> None:
    """`python -m sifu alpha`."""
    with call.at_work(call.block) as (block, folder):
        run_alpha(block, folder, history=call.history())


def run_alpha(block: Block, folder: Path, *, history: Path) -> None:
    """Writes `folder`/alpha.parquet for `alpha_clients` clients of each seed, drawn at random, and for the clients of
    the first request together.
    """
    engine = block.engine()
    lineage = read_lineage(block, engine, history)
    write_table(folder / "alpha.parquet", ALPHA, alpha_rows(block, lineage), block.stamp("alpha"))


def alpha_rows(block: Block, lineage: Lineage, change: str = "") -> pd.DataFrame:
    """alpha of some clients of each seed of a training, and Psi by every preset; `change`: its name."""
    engine, segment, left_out = lineage.engine, lineage.segments[0], _left_out(block)
    sets = left_out.sets  # k x [S, C]
    if not sets:
        return frame(ALPHA, [])
    rows = torch.arange(len(block.seeds)).repeat(len(sets))  # [k S]
    with show_progress(f"alpha {block.name} {change}".strip(), segment.trace.cohort.shape[1]) as progress:
        columns = {"alpha": measure_alpha(engine, segment, rows, torch.cat(sets), progress)}  # [k S, T + 1] each
    factor = round_factor(block.scenario.certificate, block.scenario.federation)
    for preset, rules in PRESETS.items():
        columns[f"psi_{preset}"] = _psi(lineage, sets, rules, factor)
    return _frame(block, segment, rows, left_out, columns).assign(change=change)


class LeftOut(NamedTuple):
    """Who is left out: single clients first, then the clients of the first request together."""

    sets: list[Tensor]  # [S, C] each
    request: Tensor  # [k S] 0: a single client
    client: Tensor  # [k S] -1: a request's clients


def _left_out(block: Block) -> LeftOut:
    keys, num_clients = Keys.of(block.seeds), block.scenario.partition.num_clients
    count = min(block.scenario.alpha_clients, num_clients)
    chosen = keys.fold("alpha").permutation(num_clients)[:, :count].T  # [k, S]
    alone = [torch.nn.functional.one_hot(clients, num_clients).bool() for clients in chosen]
    together = draw_requests(block.scenario, keys)[:1] if count else []
    request = torch.tensor([0] * len(alone) + [1] * len(together)).repeat_interleave(len(block.seeds))
    nobody = torch.full((len(together) * len(block.seeds),), -1)
    return LeftOut([*alone, *together], request, torch.cat([chosen.flatten(), nobody]))


def _psi(lineage: Lineage, sets: list[Tensor], rules: Rules, factor: float) -> Tensor:
    """Psi of the training for each set, by a preset's rules. [k S, T + 1]"""
    if rules.seats == "refilled":
        return lineage.refilled(sets, factor)[0].permute(2, 0, 1).flatten(0, 1)  # one replay for all sets
    return torch.cat([lineage.sensitivity(clients, rules, factor)[0] for clients in sets])


def _frame(block: Block, segment: Segment, rows: Tensor, left_out: LeftOut, columns: dict[str, Tensor]) -> pd.DataFrame:
    """A row for each pair and each round that happened. The training ends where it diverges, and then Psi does. Where
    the run without the clients diverges alone, alpha is infinite: beyond any Psi.
    """
    psi = torch.stack([column for name, column in columns.items() if name != "alpha"])
    finite = psi.isfinite().all(0)  # [k S, T + 1]
    happened = torch.arange(finite.shape[1]) <= segment.rounds[rows, None]
    pair, number = (happened & finite).nonzero(as_tuple=True)
    columns = columns | {"alpha": columns["alpha"].nan_to_num(nan=math.inf, posinf=math.inf)}
    key = {"seed": rows[pair] + block.seeds[0], "request": left_out.request[pair], "client": left_out.client[pair]}
    values = {"round": number} | {name: column[pair, number] for name, column in columns.items()}
    return pd.DataFrame({"scenario": block.name} | {name: part.numpy() for name, part in (key | values).items()})
