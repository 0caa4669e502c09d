"""Local training: K steps of SGD for every sampled client of every seed. Four implementations, one result.

`pooled`  one model at a time per thread: any module, on the CPU
`vmapped` all models at once through torch.func.vmap: any module, on a GPU
`stacked` all models at once with our own kernels: the networks of models/cnn.py and models/paper.py, on a GPU
`dual`    logistic regression in the space of a client's examples: the fastest on both
"""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from sifu.config.federation import Federation
from sifu.core.types import Clients
from sifu.federation.local.batches import Batches
from sifu.federation.local.dual import DualTrainer
from sifu.federation.local.pooled import PooledTrainer
from sifu.federation.local.stacked import StackedTrainer
from sifu.federation.local.vmapped import VmappedTrainer
from sifu.hardware.workers import Workers
from sifu.models.flat import FlatModel


class LocalTrainer(Protocol):
    """Trains cohorts from given weights on given batches."""

    def __call__(self, start: Tensor, seeds: Tensor, cohort: Tensor, batches: Batches) -> Tensor:
        """`start` [R, P], `seeds` [R] rows of the clients' data, `cohort` [R, m] (-1: empty) -> weights [R, m, P]."""
        ...


def local_trainer(model: FlatModel, clients: Clients, federation: Federation, workers: Workers | None) -> LocalTrainer:
    """The fastest trainer for this model; `workers` on the CPU, None on a GPU."""
    if DualTrainer.fits(model, clients):
        return DualTrainer(model, clients, federation, workers)
    if StackedTrainer.fits(model, clients):
        return StackedTrainer(model, clients, federation)
    if workers is None:
        return VmappedTrainer(model, clients, federation)
    return PooledTrainer(model, clients, federation, workers)
