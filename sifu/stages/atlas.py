"""atlas: leave one client out, each in turn -> what the training remembers of it, next to alpha and Psi.

For each seed and client, the training is run again without the client, with the same draws and as many rounds: the next
client in line takes its seats. What is remembered is the mean margin on the client's own data with it minus without it
(its memorisation, Feldman 2020, for a client), and the same of accuracy. The run without it is also the one that alpha
is the distance to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import one_hot

from sifu.certificate.rules import round_factor
from sifu.certificate.sensitivity import single_client_psi
from sifu.config.blocks import block_clients, block_seeds
from sifu.core.keys import Keys
from sifu.errors import ConfigError
from sifu.federation.engine import Engine
from sifu.federation.first_training import train_from
from sifu.federation.progress import show_progress
from sifu.federation.shared_data import SharedEngine
from sifu.federation.training import Progress
from sifu.metrics.model_margins import model_margins
from sifu.stages.block import Block
from sifu.stages.call import StageCall
from sifu.store.experiment_schemas import ATLAS
from sifu.store.parquet import write_table
from sifu.unlearning.counterfactual import without
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.rejoining import accuracy_of
from sifu.unlearning.replay_cache import ReplayCache


def command(call: StageCall) -> None:
    """`python -m sifu atlas_block`."""
    options = call.options
    clients = block_clients(options.clients)
    refuse_unknown(clients, call.scenario.partition.num_clients)
    federation = options.federation or options.block
    partition = call.folder(stage="partition").with_name(federation) / "partition.parquet"
    with call.at_work(replace(call.block, partition=partition), options.clients) as (block, folder):
        run_atlas(block, clients, folder, federation=block_seeds(federation))


def refuse_unknown(clients: Sequence[int], count: int) -> None:
    """Refuse clients that the federation does not have."""
    for client in clients:
        if not 0 <= client < count:
            raise ConfigError("--clients", client, f"numbers from 0 to {count - 1}")


def run_atlas(block: Block, clients: Sequence[int], folder: Path, *, federation: range) -> None:
    """Writes atlas of some clients to `folder`; `federation`: seeds of the partition file; its first is taken."""
    rows = atlas_rows(replace(block, seeds=federation[:1]), block.seeds, clients)
    stamp = block.stamp("atlas", models=(1 + len(clients)) * len(block.seeds))
    write_table(folder / "atlas.parquet", ATLAS, rows, stamp)


def atlas_rows(block: Block, models: Sequence[int], clients: Sequence[int] | None = None) -> pd.DataFrame:
    """A row a client and seed of `models`, on the federation of the block's first seed; None: all clients.

    A seed whose training diverges, with the client or without it, has no row.
    """
    one = SharedEngine.of(replace(block.engine(), checkpoints=None), len(models))
    keys = Keys.of(models, one.clients.images.device)
    with show_progress(f"atlas {block.name}, training", block.scenario.stop.max_rounds) as progress:
        lineage = Lineage.of(one, train_from(one, block.scenario, keys, progress))
    chosen = list(range(one.clients.num_clients) if clients is None else clients)
    bounds = _bounds(block, lineage, chosen)
    parts = []
    for place, client in enumerate(chosen):
        label = f"atlas {block.name}, without client {client}"
        with show_progress(label, int(lineage.segments[0].rounds.max())) as progress:
            # a run without a client is never asked for again: it needs neither a cache nor a history
            engine = replace(lineage.engine, history=False)
            columns = _left_out(replace(lineage, cache=ReplayCache(), engine=engine), client, progress)
        columns |= {name: psi[:, place].numpy() for name, psi in bounds.items()}
        parts.append(pd.DataFrame({"client": client, "seed": np.asarray(models)} | columns))
    rows = pd.concat(parts, ignore_index=True).assign(scenario=block.name)
    finite = np.isfinite(rows.drop(columns="scenario").to_numpy(np.float64)).all(1)
    return rows.loc[finite, [column.name for column in ATLAS.columns]].reset_index(drop=True)


def _bounds(block: Block, lineage: Lineage, clients: list[int]) -> dict[str, Tensor]:
    """Psi of each client alone at the end of the training, as the paper counts it and strictly. [S, clients] each"""
    segment, factor = lineage.segments[0], round_factor(block.scenario.certificate, block.scenario.federation)
    shares = single_client_psi(segment, lineage.engine.clients.size.cpu(), "share", factor)[..., clients]
    masks = [_mask(lineage, client) for client in clients]
    strict = replace(lineage, cache=ReplayCache()).refilled(masks, factor)[0]  # one replay for all clients
    last = torch.arange(len(shares)), segment.rounds
    return {"psi_published": shares[last], "psi_strict": strict[last]}  # of [S, T + 1, clients]


def _mask(lineage: Lineage, client: int) -> Tensor:
    """The client alone, in every seed. [S, C] bool"""
    return one_hot(torch.tensor(client), lineage.engine.clients.num_clients).bool().expand(len(lineage.current), -1)


def _left_out(lineage: Lineage, client: int, progress: Progress) -> dict[str, NDArray[np.float64]]:
    """What the trainings lose without one client. [S] each"""
    engine, theta, mask = lineage.engine, lineage.current, _mask(lineage, client)
    phi = without(lineage, mask, progress)
    memory = _mean_margin(engine, theta, client) - _mean_margin(engine, phi, client)
    drop = (accuracy_of(engine, theta, mask) - accuracy_of(engine, phi, mask)).double().numpy()
    alpha = (theta - phi).double().norm(dim=1).cpu().numpy()
    return {"memorisation": memory, "accuracy_drop": drop, "alpha": alpha}


def _mean_margin(engine: Engine, weights: Tensor, client: int) -> NDArray[np.float64]:
    """The mean margin of models [S, P] on a client's own data. [S]"""
    clients = engine.clients
    count = int(clients.size[0, client])
    images, labels = clients.images[0, client, :count], clients.labels[0, client, :count]
    return model_margins(engine.model, weights, images, labels)[0].astype(np.float64).mean(1)
