"""The guarantee of noise in every round, for a federation that was trained with DP-FedAvg."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sifu.certificate.refilled import cohorts_without
from sifu.certificate.sensitivity import sampled
from sifu.certificate.stretch import Stretch, Stretches
from sifu.config.federation import Federation
from sifu.federation.segment import Segment


def stretches_of(segments: Sequence[Segment], kept: Sequence[Tensor]) -> list[Stretches]:
    """For each seed: the rounds `kept` of each segment, and the number of clients that could be sampled in them."""
    rounds = torch.stack([part.clamp(min=0) for part in kept], dim=1)  # [S, branches]
    clients = torch.stack([segment.available.sum(1) for segment in segments], dim=1)
    return [
        tuple(Stretch(c, r) for c, r in zip(*pair, strict=True))
        for pair in zip(clients.tolist(), rounds.tolist(), strict=True)
    ]


def noise_ratio(
    segments: Sequence[Segment], kept: Sequence[Tensor], federation: Federation, forgotten: Tensor
) -> Tensor:
    """Psi / sigma of all rounds: sqrt(sum over n of (j_n C / (m sigma))^2), j_n clients that differ in round n. [S]

    Adaptive Gaussian mechanisms compose into one (Dong, Roth and Su 2022). The bound is conditional on the draws, as
    every strict sensitivity here: the run to compare with has the same draws without the `forgotten` clients [S, C].
    Each of them changes a sum by C, and so does whoever takes its seat, in a fixed cohort; sampling itself adds no
    privacy.
    """
    privacy = federation.privacy
    assert privacy is not None
    squares = torch.zeros(len(forgotten), dtype=torch.float64)
    for segment, rounds in zip(segments, kept, strict=True):
        others, cohort = cohorts_without(segment, forgotten, federation), segment.trace.cohort
        left = sampled(forgotten, cohort).sum(2)  # [S, T]
        stayed = (cohort >= 0).sum(2) - left
        count = left + (others >= 0).sum(2) - stayed  # forgotten clients, and who takes their seats
        happened = torch.arange(count.shape[1]) < rounds[:, None]
        squares += (count * happened).double().square().sum(1)
    change = squares.sqrt() * privacy.update_clip / federation.clients_per_round
    return torch.where(change > 0, change / privacy.noise if privacy.noise else torch.inf, 0.0)
