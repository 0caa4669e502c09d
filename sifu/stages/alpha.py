"""alpha: a training's history -> how much single clients moved it, measured, beside every bound."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from sifu.certificate.rules import PRESETS
from sifu.certificate.sensitivity import accumulate, client_increments, spread_clients
from sifu.codehash import code_hash
from sifu.coupled import measure_alpha
from sifu.device import choose_device, device_name
from sifu.history import Segment
from sifu.keys import Keys
from sifu.provenance import provenance
from sifu.scenario import Scenario
from sifu.schemas import ALPHA
from sifu.stages import relevant_settings, stage_modules
from sifu.stages.block import build_engine, open_history
from sifu.store import write_table


def run_alpha(
    name: str,
    scenario: Scenario,
    seeds: range,
    folder: Path,
    *,
    partition: Path,
    history: Path,
    data_root: Path,
    device: str,
    threads: int,
) -> None:
    """Writes `folder`/alpha.parquet for `alpha_clients` clients of each seed, drawn at random."""
    chosen = choose_device(device)
    engine = build_engine(name, scenario, seeds, partition, data_root=data_root, device=chosen, threads=threads)
    segment = open_history(engine, history).segments[0]
    count = min(scenario.alpha_clients, scenario.partition.num_clients)
    drawn = Keys.of(seeds).fold("alpha").permutation(scenario.partition.num_clients)[:, :count]  # [S, k]
    rows = torch.arange(len(seeds)).repeat_interleave(count)  # [S * k]
    alpha = measure_alpha(engine, segment, rows, drawn.flatten())  # [S * k, T + 1]
    table = _frame(name, scenario, seeds, segment, engine.clients.size.cpu(), rows, drawn.flatten(), alpha)
    code = code_hash(*stage_modules("alpha", scenario))
    stamp = provenance("alpha", relevant_settings("alpha", scenario), code, device_name(chosen))
    write_table(folder / "alpha.parquet", ALPHA, table, stamp)


def _frame(
    name: str,
    scenario: Scenario,
    seeds: range,
    segment: Segment,
    size: Tensor,
    rows: Tensor,
    clients: Tensor,
    alpha: Tensor,
) -> pd.DataFrame:
    factor = scenario.certificate.contraction**scenario.federation.local_steps
    psi = {
        preset: single_client_psi(segment, size, rules.weight, factor)[rows, :, clients]  # [S * k, T + 1]
        for preset, rules in PRESETS.items()
    }
    happened = torch.arange(alpha.shape[1]) <= segment.rounds[rows, None]  # [S * k, T + 1]
    pair, number = happened.nonzero(as_tuple=True)
    columns = {"round": number, "alpha": alpha[happened]}
    columns |= {f"psi_{preset}": values[happened] for preset, values in psi.items()}
    first = {"scenario": name, "seed": (rows[pair] + seeds[0]).numpy(), "client": clients[pair].numpy()}
    return pd.DataFrame(first | {key: values.numpy() for key, values in columns.items()})


def single_client_psi(segment: Segment, size: Tensor, weight: str, factor: float) -> Tensor:
    """Psi(n, c) of every client alone, at the nodes 0..T. [S, T + 1, C]"""
    increments = client_increments(segment, size, weight)
    return accumulate(spread_clients(increments, segment.trace.cohort, size.shape[1]), factor)
