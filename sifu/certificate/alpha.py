"""alpha: the distance between a training and the run that is made without some clients.

That run has the same draws. Its cohorts are sampled from the clients that remain, so the next one in line takes a
forgotten client's seat, as in a retraining.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.core.keys import Keys
from sifu.federation.engine import Engine
from sifu.federation.segment import Segment
from sifu.federation.training import Progress
from sifu.hardware.upload import upload


def measure_alpha(
    engine: Engine, segment: Segment, seeds: Tensor, without: Tensor, progress: Progress | None = None
) -> Tensor:
    """alpha(n, W) = ||theta^n - phi^n|| for n = 0..T, phi trained without the clients W (equation 4).

    `seeds` [q] and `without` [q, C] are the pairs; after a seed's last round the value stays the same.
    [q, T + 1] float64
    """
    device, remain = engine.clients.images.device, segment.available[seeds] & ~without
    theta, phi = segment.start.to(device, copy=True), segment.start[seeds].to(device)
    alpha, pairs = [torch.zeros(len(seeds), dtype=torch.float64, device=device)], seeds.to(device)
    for step in engine.walk(segment):
        theta[upload(step.rows, device)] = step.result.weights
        running = torch.nonzero(segment.rounds[seeds] > step.number).flatten()
        at, rows = upload(running, device), seeds[running]
        if len(running):  # other seeds may have more rounds
            phi[at] = one_round(engine, segment, phi[at], rows, remain[running], step.number)
        alpha.append((theta[pairs] - phi).double().norm(dim=1))  # stays there: the host does not wait for a GPU
        if progress is not None:
            progress(step.number + 1, [], int((segment.rounds > step.number + 1).sum()))
    alpha += alpha[-1:] * (segment.trace.cohort.shape[1] + 1 - len(alpha))  # rounds that no seed finished
    return torch.stack(alpha, dim=1).cpu()


def one_round(engine: Engine, segment: Segment, weights: Tensor, seeds: Tensor, remain: Tensor, number: int) -> Tensor:
    """Round `number` of a segment from other `weights` [R, P], sampled from the clients `remain` [R, C]. [R, P]"""
    parts = (seeds, torch.full_like(seeds, number), remain, segment.key_state[seeds])
    rows, numbers, available, state = (upload(part, weights.device) for part in parts)
    return engine.using(segment.optimiser).round(weights, rows, numbers, available, Keys(state)).weights
