"""The training, made again without the clients of a request: what the certificates of a scenario are compared with.

Every variant begins with the same training, and goes back to some round of it. So this is made once, to the training's
last round, and a variant reads the round that it needs: the bits are those of a run that ends there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from sifu.certificate.refilled import refilled_increments, single_sets
from sifu.core.keys import Keys
from sifu.core.types import Status
from sifu.federation.engine import Engine
from sifu.federation.packing import Runner, run_together
from sifu.federation.segment import Segment
from sifu.federation.stop import Stop
from sifu.federation.training import Progress

_EVERY = 50  # rounds between two models that are kept


@dataclass(frozen=True)
class TrainingWithout:
    """The training without the clients of one request, and what each round adds to Psi."""

    sets: Tensor  # [S, sets, C] bool: see `compared_sets`
    increments: Tensor  # [S, T, sets] float64, with refilled seats
    segment: Segment  # the run without the first set

    def increments_of(self, sets: Sequence[Tensor], until: Tensor) -> Tensor | None:
        """What each round before round `until` [S] adds to Psi of the `sets` [S, C]; None of others. [S, T, sets]"""
        if len(sets) != self.sets.shape[1] or not torch.equal(torch.stack(list(sets), dim=1), self.sets):
            return None
        before = torch.arange(self.increments.shape[1]) < until[:, None]  # [S, T]
        return self.increments.where(before[..., None], 0.0)

    def is_without(self, clients: Tensor) -> bool:
        """Whether it is the run without `clients` [S, C]."""
        return torch.equal(self.sets[:, 0], clients)

    def model(self, engine: Engine, rounds: Tensor) -> Tensor:
        """Its model after `rounds` [S] rounds; NaN where it had diverged by then. [S, P]"""
        diverged = torch.tensor([status == Status.DIVERGED for status in self.segment.status])
        lost = diverged & (rounds > self.segment.rounds)
        weights = engine.replay(self.segment, rounds.where(~lost, 0))
        return weights.masked_fill(lost.to(weights.device)[:, None], torch.nan)


def compared_sets(clients: Tensor, everyone: Tensor) -> list[Tensor]:
    """Whose Psi an answer has: that of the request's `clients` [S, C] together, of `everyone` [S, C] forgotten so far
    together, of each of the clients alone. [S, C] each
    """
    return [clients, everyone, *single_sets(clients)]


def trainings_without(
    engine: Engine,
    training: Segment,
    requests: Sequence[Tensor],
    progress: Progress | None = None,
    at_once: int = 1,
) -> list[TrainingWithout]:
    """The `training` without the clients of each of the `requests` [S, C]; `at_once`: requests in one batch.

    It is walked along once for all sets.
    """
    everyone, asked = torch.zeros_like(training.available), []
    for clients in requests:
        everyone = everyone | clients
        asked.append(compared_sets(clients, everyone))
    increments = refilled_increments(engine, training, [clients for sets in asked for clients in sets])
    parts = increments.split([len(sets) for sets in asked], dim=2)
    tasks = [partial(_again, training, sets[0], engine.clients.images.device) for sets in asked]
    return [
        TrainingWithout(torch.stack(sets, dim=1), part.contiguous(), run)
        for sets, part, run in zip(asked, parts, run_together(engine, tasks, at_once, progress), strict=True)
    ]


def run_without(
    engine: Engine,
    segment: Segment,
    clients: Tensor,
    progress: Progress | None = None,
    *,
    start: Tensor | None = None,
    rounds: Tensor | None = None,
) -> Segment:
    """The rounds of a segment with the same draws, sampled from all but `clients` [S, C].

    `start` [S, P]: another model to begin with; `rounds` [S]: only so many.
    """
    begun = segment if start is None else replace(segment, start=start)
    return _again(begun, clients, engine.clients.images.device, partial(engine.run, progress=progress), rounds)


def _again(
    segment: Segment, clients: Tensor, device: torch.device, run: Runner, rounds: Tensor | None = None
) -> Segment:
    """The rounds of a segment, sampled from all but `clients` [S, C]; `rounds` [S]: only so many."""
    start, remain, state = (
        part.to(device) for part in (segment.start, segment.available & ~clients, segment.key_state)
    )
    stop = Stop(None, 0, segment.rounds if rounds is None else rounds, schedule="rare")
    idle = {} if segment.idle is None else {"idle": segment.idle.to(device)}  # whoever was not sampled then is not now
    return run(start, remain, Keys(state), stop, snapshot_every=_EVERY, optimiser=segment.optimiser, **idle)
