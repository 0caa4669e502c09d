"""alpha: a training's history -> how much single clients moved it, measured, beside every bound."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from sifu.certificate.rules import PRESETS
from sifu.certificate.sensitivity import accumulate, client_increments, spread_clients
from sifu.coupled import measure_alpha
from sifu.history import Segment
from sifu.keys import Keys
from sifu.schemas import ALPHA
from sifu.stages.block import Block, open_history
from sifu.store import write_table


def run_alpha(block: Block, folder: Path, *, history: Path) -> None:
    """Writes `folder`/alpha.parquet for `alpha_clients` clients of each seed, drawn at random."""
    engine = block.engine()
    segment = open_history(engine, history).segments[0]
    num_clients = block.scenario.partition.num_clients
    count = min(block.scenario.alpha_clients, num_clients)
    clients = Keys.of(block.seeds).fold("alpha").permutation(num_clients)[:, :count].flatten()  # [S * k]
    rows = torch.arange(len(block.seeds)).repeat_interleave(count)  # [S * k]
    columns = {"alpha": measure_alpha(engine, segment, rows, clients)}  # [S * k, T + 1] each
    factor = block.scenario.certificate.contraction**block.scenario.federation.local_steps
    for preset, rules in PRESETS.items():
        psi = single_client_psi(segment, engine.clients.size.cpu(), rules.weight, factor)  # [S, T + 1, C]
        columns[f"psi_{preset}"] = psi[rows, :, clients]
    write_table(folder / "alpha.parquet", ALPHA, _frame(block, segment, rows, clients, columns), block.stamp("alpha"))


def _frame(block: Block, segment: Segment, rows: Tensor, clients: Tensor, columns: dict[str, Tensor]) -> pd.DataFrame:
    """A row for each pair and each round that happened."""
    nodes = columns["alpha"].shape[1]
    pair, number = (torch.arange(nodes) <= segment.rounds[rows, None]).nonzero(as_tuple=True)
    key = {"seed": rows[pair] + block.seeds[0], "client": clients[pair], "round": number}
    values = {name: column[pair, number] for name, column in columns.items()}
    return pd.DataFrame({"scenario": block.name} | {name: part.numpy() for name, part in (key | values).items()})


def single_client_psi(segment: Segment, size: Tensor, weight: str, factor: float) -> Tensor:
    """Psi(n, c) of every client alone, at the nodes 0..T. [S, T + 1, C]"""
    increments = client_increments(segment, size, weight)
    return accumulate(spread_clients(increments, segment.trace.cohort, size.shape[1]), factor)
