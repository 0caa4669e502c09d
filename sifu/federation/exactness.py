"""Whether a round can be repeated to the bit, and how many models a history keeps if not.

Kernels of our own add up in the same order for any number of models. A model may use operations of torch that do not:
then a client's weights differ in the last bit between the training, where all seeds are one batch, and a replay of some
of them, and after some rounds they differ in the first. Such a model's history keeps every round.
"""

from __future__ import annotations

import math
import sys

import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.federation.cohort import cohort_sizes, draw_cohort
from sifu.federation.local.guided import GuidedTrainer
from sifu.federation.local.vmapped import VmappedTrainer
from sifu.federation.rounds import Rounds

MAX_BYTES = 2**33  # of a history's models


def repeats_exactly(engine: Rounds) -> bool:
    """Whether a client's weights after a round do not depend on what else is in the batch: tried with one round."""
    if not isinstance(engine.trainer, VmappedTrainer | GuidedTrainer) or engine.clients.images.device.type == "cpu":
        return True
    keys = Keys.of(range(engine.clients.num_seeds), engine.clients.images.device)
    start, rounds = engine.model.init(keys).to(engine.clients.images.dtype), torch.zeros_like(keys.state)
    cohort = draw_cohort(keys, rounds, engine.clients.size > 0, engine.federation)  # [S, m]
    local = _train(engine, start, cohort, keys)  # [S, m, P]
    alone = _train(engine, start[-1:], cohort[-1:], Keys(keys.state[-1:]))
    fewer = _train(engine, start, cohort[:, 1:], keys) if cohort.shape[1] > 1 else local[:, 1:]
    again = _train(engine, start, cohort, keys)
    return torch.equal(local, again) and torch.equal(local[-1:], alone) and torch.equal(local[:, 1:], fewer)


def _train(engine: Rounds, start: Tensor, cohort: Tensor, keys: Keys) -> Tensor:
    """The clients' weights after the first round; all rows have the first seed's data. [R, m, P]"""
    zeros = torch.zeros_like(keys.state)
    sizes = cohort_sizes(cohort, engine.clients.size[zeros])
    return engine.trainer(start, zeros, cohort, engine.batcher.draw(keys, zeros, cohort, sizes))


def snapshot_interval(start: Tensor, max_rounds: int, wanted: int) -> int:
    """Rounds between two snapshots of a training from `start` [S, P] that is not exact: as few as memory allows."""
    models = max(1, MAX_BYTES // max(1, start.numel() * start.element_size()))  # of all seeds
    every = min(wanted, max(1, math.ceil(max_rounds / models)))
    size = start.numel() * start.element_size() * math.ceil(max_rounds / every) / 1e9
    rounds = "every round" if every == 1 else f"one round in {every}"
    print(
        f"the model uses operations that round differently in another batch: the history keeps {rounds} "
        f"(up to {size:.1f} GB)",
        file=sys.stderr,
    )
    return every
