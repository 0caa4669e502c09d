"""The same run without a client: the original cohorts with that client left out, all other draws the same."""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.segment import Segment
from sifu.federation.training import Progress


def measure_alpha(
    engine: Engine, segment: Segment, seeds: Tensor, clients: Tensor, progress: Progress | None = None
) -> Tensor:
    """alpha(n, c) = ||theta^n - phi^n|| for n = 0..T, phi trained without client c (equation 4).

    `seeds` and `clients` [q] name the pairs; beyond a seed's own last round the value stays. [q, T + 1] float64
    """
    device, key_state = engine.clients.images.device, segment.key_state
    whole, pair = seeds.unique(return_inverse=True)  # [R] each seed's run as it was, once; [q] the pairs' rows there
    rows = torch.cat([whole, seeds])  # the runs as they were, then those without a client
    out = torch.cat([torch.full_like(whole, -2), clients])  # -2: nobody is left out
    weights = segment.start[rows].to(device)
    alpha = [torch.zeros(len(seeds), dtype=torch.float64)]
    for number in range(segment.trace.cohort.shape[1]):
        running = torch.nonzero(segment.rounds[rows] > number).flatten()
        cohort = leave_out(segment.trace.cohort[rows, number], out)[running]
        place = rows[running]
        there = (part.to(device) for part in (place, torch.full_like(place, number), cohort, key_state[place]))
        at, numbers, who, state = there
        weights[running] = engine.train_cohort(weights[running], at, numbers, who, Keys(state)).weights
        difference = weights[pair.to(device)] - weights[len(whole) :]
        alpha.append(difference.double().norm(dim=1).cpu())
        if progress is not None:
            progress(number + 1, [], int((segment.rounds[whole] > number + 1).sum()))
    return torch.stack(alpha, dim=1)


def leave_out(cohort: Tensor, clients: Tensor) -> Tensor:
    """Cohorts [q, m] without one client each [q]; the others keep their order, nobody (-1) stands last."""
    nobody = torch.iinfo(cohort.dtype).max
    left = cohort.masked_fill((cohort == clients[:, None]) | (cohort < 0), nobody).sort(dim=1).values
    return left.masked_fill(left == nobody, -1)
