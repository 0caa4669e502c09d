"""A federation in shards as it would be without some clients.

The rounds of a shard depend on its own clients alone, so that a shard without the clients has the same bits in both
runs. Where a request puts other weights in a shard (its initial ones, or zeros where nobody is left), it does so in
both runs. So what an exact method starts from is the same in both: the distance is 0, and it is measured here.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.core.types import Status
from sifu.federation.segment import Segment
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.training_without import run_without


def distance_without(lineage: Lineage, start: Tensor, clients: Tensor) -> Tensor:
    """How far the models `start` [S, k P], with which a recovery begins, are from those of the same lineage without
    `clients` [S, C]. Infinite where that diverges. [S] float64
    """
    count, theta = lineage.engine.federation.num_models, lineage.segments[0].start.cpu()
    phi = theta
    for segment in lineage.segments:
        phi = _run(lineage, segment, clients, _put(segment.start.cpu(), theta, phi, count))
        theta = segment.final.cpu()
    there, without = start.cpu(), _put(start.cpu(), theta, phi, count)
    return (there - without).double().norm(dim=1).nan_to_num(nan=torch.inf)


def is_whole(lineage: Lineage) -> bool:
    """Whether every branch grew from the end of the one before, as those of shards do."""
    return all(torch.equal(kept, one.rounds) for kept, one in zip(lineage.kept, lineage.segments, strict=True))


def _put(start: Tensor, theta: Tensor, phi: Tensor, count: int) -> Tensor:
    """The models that stay as they are (`start` is `theta`) from `phi`, the others from `start`. [S, k P] each"""
    models = [part.unflatten(1, (count, -1)) for part in (start, theta, phi)]  # [S, k, P]
    stays = (models[0] == models[1]).all(2, keepdim=True)
    return torch.where(stays, models[2], models[0]).flatten(1)


def _run(lineage: Lineage, segment: Segment, clients: Tensor, start: Tensor) -> Tensor:
    """The rounds of a segment from `start` [S, k P] without `clients` [S, C]; NaN where that diverges. [S, k P]"""
    run = run_without(lineage.engine, segment, clients, start=start)
    diverged = torch.tensor([status == Status.DIVERGED for status in run.status])
    return run.final.cpu().masked_fill(diverged[:, None], torch.nan)
