"""atlas: leave one client out, each in turn -> what the training remembers of it, next to alpha and Psi.

For each seed and client, the training is run again without the client, with the same draws and as many rounds: the next
client in line takes its seats. What is remembered is the mean margin on the client's own data with it minus without it
(its memorisation, Feldman 2020, for a client), and the same of accuracy. The run without it is also the one that alpha
is the distance to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import one_hot

from sifu.certificate.rules import round_factor
from sifu.certificate.sensitivity import single_client_psi
from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.first_training import train_from
from sifu.federation.progress import show_progress
from sifu.federation.shared_data import SharedEngine
from sifu.metrics.model_margins import model_margins
from sifu.stages.block import Block
from sifu.unlearning.counterfactual import without
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.rejoining import accuracy_of
from sifu.unlearning.replay_cache import ReplayCache

COLUMNS = ("client", "seeds", "memorisation", "deviation", "accuracy_drop", "alpha", "psi")


def atlas_rows(block: Block, models: Sequence[int], clients: Sequence[int] | None = None) -> pd.DataFrame:
    """A row a client: means over the `models`, seeds of the federation of the block's first seed; None: all clients.

    A seed whose training diverges, with the client or without it, is in no mean; `seeds` says how many are.
    """
    one = SharedEngine.of(replace(block.engine(), checkpoints=None), len(models))
    keys = Keys.of(models, one.clients.images.device)
    with show_progress(f"atlas {block.name}, training", block.scenario.stop.max_rounds) as progress:
        lineage = Lineage.of(one, train_from(one, block.scenario, keys, progress))
    psi = _psi(block, lineage)
    chosen = range(one.clients.num_clients) if clients is None else clients
    # a cache of its own for each client: a run without one is never asked for again
    rows = [_row(replace(lineage, cache=ReplayCache()), client, psi[:, client]) for client in chosen]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _psi(block: Block, lineage: Lineage) -> Tensor:
    """Psi of every client alone at the end of the training, as the paper counts it. [S, C]"""
    segment, factor = lineage.segments[0], round_factor(block.scenario.certificate, block.scenario.federation)
    psi = single_client_psi(segment, lineage.engine.clients.size.cpu(), "share", factor)  # [S, T + 1, C]
    return psi[torch.arange(len(psi)), segment.rounds]


def _row(lineage: Lineage, client: int, psi: Tensor) -> dict[str, float]:
    """What the trainings remember of one client."""
    engine, theta = lineage.engine, lineage.current
    mask = one_hot(torch.tensor(client), engine.clients.num_clients).bool().expand(len(theta), -1)
    phi = without(lineage, mask)
    memory = _mean_margin(engine, theta, client) - _mean_margin(engine, phi, client)  # [S]
    drop = (accuracy_of(engine, theta, mask) - accuracy_of(engine, phi, mask)).numpy()
    alpha = (theta - phi).double().norm(dim=1).cpu().numpy()
    columns = {"memorisation": memory, "accuracy_drop": drop, "alpha": alpha, "psi": psi.double().cpu().numpy()}
    finite = np.isfinite(list(columns.values())).all(0)  # [S] neither training diverged
    means = {name: _mean(values[finite]) for name, values in columns.items()}
    deviation = float(memory[finite].std(ddof=1)) if finite.sum() > 1 else 0.0
    return {"client": client, "seeds": int(finite.sum()), "deviation": deviation} | means


def _mean(values: NDArray[np.float64]) -> float:
    """NaN where no seed is left."""
    return float(values.mean()) if len(values) else np.nan


def _mean_margin(engine: Engine, weights: Tensor, client: int) -> NDArray[np.float64]:
    """The mean margin of models [S, P] on a client's own data. [S]"""
    clients = engine.clients
    count = int(clients.size[0, client])
    images, labels = clients.images[0, client, :count], clients.labels[0, client, :count]
    return model_margins(engine.model, weights, images, labels).astype(np.float64).mean(1)
