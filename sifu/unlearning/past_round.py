"""A past round, for every seed at once, and training it again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sifu.config.optimiser import Optimiser
from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.rounds import Round
from sifu.federation.segment import Segment
from sifu.hardware.upload import upload


@dataclass(frozen=True)
class PastRound:
    """Who took part in a round of the lineage, how far each client moved, and the key of its random draws.

    The cohort is empty (-1) where a seed's lineage does not have the round.
    """

    branch: int
    number: int | Tensor  # of the round on its branch, from 0: the same for all seeds, or [S]
    cohort: Tensor  # [S, m]
    norm: Tensor  # [S, m] ||theta_c^{n+1} - theta^n||
    layer_norm: Tensor  # [S, m, layers]
    key_state: Tensor  # [S]
    happened: Tensor  # [S] bool: which seeds' lineages have it
    optimiser: Optimiser | None = None  # of the clients; None: the federation's SGD

    @staticmethod
    def of(segment: Segment, branch: int, number: int, kept: Tensor) -> PastRound:
        """Round `number` of a segment, for the seeds that have kept more rounds than that."""
        trace, happened = segment.trace, kept > number
        cohort = trace.cohort[:, number].where(happened[:, None], -1)
        norms = trace.update_norm[:, number].clone(), trace.layer_norm[:, number].clone()
        return PastRound(branch, number, cohort, *norms, segment.key_state.clone(), happened, segment.optimiser)

    @staticmethod
    def last(segment: Segment, kept: Tensor) -> PastRound:
        """The last round of a segment that each seed has kept: `kept` [S] are how many."""
        trace, happened = segment.trace, kept > 0
        number, seeds = (kept - 1).clamp(min=0), torch.arange(len(kept))
        cohort = trace.cohort[seeds, number].where(happened[:, None], -1)
        norms = trace.update_norm[seeds, number], trace.layer_norm[seeds, number]
        return PastRound(0, number, cohort, *norms, segment.key_state.clone(), happened, segment.optimiser)

    def only(self, allowed: Tensor) -> PastRound:
        """The same round with the clients `allowed` [S, C] alone; they keep their order, empty places come last."""
        return self.keep(allowed.gather(1, self.cohort.clamp(min=0)) & (self.cohort >= 0))

    def keep(self, stays: Tensor) -> PastRound:
        """The same round with the clients in the places `stays` [S, m] alone, in their order."""
        order = torch.argsort((~stays).long(), dim=1, stable=True)
        cohort = self.cohort.masked_fill(~stays, -1).gather(1, order)
        layers = order.unsqueeze(-1).expand_as(self.layer_norm)
        norm, layer_norm = self.norm.gather(1, order), self.layer_norm.gather(1, layers)
        return replace(self, cohort=cohort, norm=norm, layer_norm=layer_norm)

    def hide(self, clients: Tensor) -> PastRound:
        """The same round with the places of `clients` [S, C] left empty."""
        hidden = clients.gather(1, self.cohort.clamp(min=0)) & (self.cohort >= 0)
        return replace(self, cohort=self.cohort.masked_fill(hidden, -1))

    @property
    def visits(self) -> Tensor:
        """How many clients took part. [S]"""
        return (self.cohort >= 0).sum(1)

    @property
    def rows(self) -> Tensor:
        """The seeds in which somebody took part. [R]"""
        return torch.nonzero(self.visits > 0).flatten()


def train_again(engine: Engine, weights: Tensor, past: PastRound, local_steps: int | None = None) -> Round:
    """The clients of a past round train again, from `weights` [S, P], with the batches that they had in it.

    A seed in which no client took part keeps its weights and costs nothing.
    """
    engine = engine.using(past.optimiser)
    rows, numbers = past.rows, torch.zeros(len(weights), dtype=torch.int64) + past.number
    parts = (rows, numbers[rows], past.cohort[rows], past.key_state[rows])
    at, numbers, cohort, state = (upload(part, weights.device) for part in parts)
    if len(rows) == len(weights):
        return engine.train_cohort(weights, at, numbers, cohort, Keys(state), local_steps)
    everyone = upload(past.cohort, weights.device)
    local, average = weights.unsqueeze(1).repeat(1, everyone.shape[1], 1), weights.clone()  # [S, m, P], [S, P]
    if len(rows):
        result = engine.train_cohort(weights[at], at, numbers, cohort, Keys(state), local_steps)
        local[at], average[at] = result.local, result.weights
    return Round(everyone, local, average)
