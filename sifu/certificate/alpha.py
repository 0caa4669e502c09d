"""alpha: the same run again without one client. Its cohorts lack that client; all other draws are the same."""

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

    `seeds` and `clients` [q] are the pairs; after a seed's last round the value stays the same. [q, T + 1] float64
    """
    device, key_state = engine.clients.images.device, segment.key_state
    originals, pair = seeds.unique(return_inverse=True)  # [R] the original run of each seed; [q] which one a pair has
    rows = torch.cat([originals, seeds])  # the original runs, then the runs without a client
    omitted = torch.cat([torch.full_like(originals, -2), clients])  # -2: none
    weights = segment.start[rows].to(device)
    alpha = [torch.zeros(len(seeds), dtype=torch.float64)]
    for number in range(segment.trace.cohort.shape[1]):
        running = torch.nonzero(segment.rounds[rows] > number).flatten()
        cohort = leave_out(segment.trace.cohort[rows, number], omitted)[running]
        seed_rows = rows[running]
        parts = (seed_rows, torch.full_like(seed_rows, number), cohort, key_state[seed_rows])
        data_rows, numbers, cohort, state = (part.to(device) for part in parts)
        weights[running] = engine.train_cohort(weights[running], data_rows, numbers, cohort, Keys(state)).weights
        difference = weights[pair.to(device)] - weights[len(originals) :]
        alpha.append(difference.double().norm(dim=1).cpu())
        if progress is not None:
            progress(number + 1, [], int((segment.rounds[originals] > number + 1).sum()))
    return torch.stack(alpha, dim=1)


def leave_out(cohort: Tensor, clients: Tensor) -> Tensor:
    """Cohorts [q, m] without one client each [q]; the others keep their order, empty places (-1) come last."""
    empty = torch.iinfo(cohort.dtype).max
    remaining = cohort.masked_fill((cohort == clients[:, None]) | (cohort < 0), empty).sort(dim=1).values
    return remaining.masked_fill(remaining == empty, -1)
