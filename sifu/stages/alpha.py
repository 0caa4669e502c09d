"""alpha: a training's history -> how much single clients moved it, measured, next to every bound."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from sifu.certificate.alpha import measure_alpha
from sifu.certificate.rules import PRESETS, round_factor
from sifu.certificate.sensitivity import single_client_psi
from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.progress import show_progress
from sifu.federation.segment import Segment
from sifu.stages.block import Block, read_lineage
from sifu.stages.call import StageCall
from sifu.store.parquet import write_table
from sifu.store.schemas import ALPHA


def command(call: StageCall) -> None:
    """`python -m sifu alpha`."""
    with call.at_work(call.block) as (block, folder):
        run_alpha(block, folder, history=call.history())


def run_alpha(block: Block, folder: Path, *, history: Path) -> None:
    """Writes `folder`/alpha.parquet for `alpha_clients` clients of each seed, drawn at random."""
    engine = block.engine()
    segment = read_lineage(engine, history).segments[0]
    write_table(folder / "alpha.parquet", ALPHA, alpha_rows(block, engine, segment), block.stamp("alpha"))


def alpha_rows(block: Block, engine: Engine, segment: Segment, change: str = "") -> pd.DataFrame:
    """alpha of `alpha_clients` clients of each seed of a training, and Psi by every preset; `change`: its name."""
    num_clients = block.scenario.partition.num_clients
    count = min(block.scenario.alpha_clients, num_clients)
    clients = Keys.of(block.seeds).fold("alpha").permutation(num_clients)[:, :count].flatten()  # [S * k]
    rows = torch.arange(len(block.seeds)).repeat_interleave(count)  # [S * k]
    with show_progress(f"alpha {block.name} {change}".strip(), segment.trace.cohort.shape[1]) as progress:
        columns = {"alpha": measure_alpha(engine, segment, rows, clients, progress)}  # [S * k, T + 1] each
    factor = round_factor(block.scenario.certificate, block.scenario.federation)
    for preset, rules in PRESETS.items():
        psi = single_client_psi(segment, engine.clients.size.cpu(), rules.weight, factor)  # [S, T + 1, C]
        columns[f"psi_{preset}"] = psi[rows, :, clients]
    return _frame(block, segment, rows, clients, columns).assign(change=change)


def _frame(block: Block, segment: Segment, rows: Tensor, clients: Tensor, columns: dict[str, Tensor]) -> pd.DataFrame:
    """A row for each pair and each round that happened."""
    finite = torch.stack(list(columns.values())).isfinite().all(0)  # [S * k, T + 1]
    happened = torch.arange(finite.shape[1]) <= segment.rounds[rows, None]
    pair, number = (happened & finite).nonzero(as_tuple=True)  # a run that diverges ends there
    key = {"seed": rows[pair] + block.seeds[0], "client": clients[pair], "round": number}
    values = {name: column[pair, number] for name, column in columns.items()}
    return pd.DataFrame({"scenario": block.name} | {name: part.numpy() for name, part in (key | values).items()})
