"""What noise in every round hides: the lineage of a federation that was trained privately."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sifu.certificate.accountant import Stretch, Stretches
from sifu.certificate.sensitivity import sampled
from sifu.config.federation import Federation
from sifu.federation.segment import Segment


def stretches_of(segments: Sequence[Segment], kept: Sequence[Tensor]) -> list[Stretches]:
    """For each seed the rounds `kept` of each segment, and how many clients could be sampled in them."""
    rounds = torch.stack([part.clamp(min=0) for part in kept], dim=1)  # [S, branches]
    clients = torch.stack([segment.available.sum(1) for segment in segments], dim=1)
    return [
        tuple(Stretch(c, r) for c, r in zip(*pair, strict=True))
        for pair in zip(clients.tolist(), rounds.tolist(), strict=True)
    ]


def noise_ratio(segments: Sequence[Segment], kept: Sequence[Tensor], federation: Federation, leavers: Tensor) -> Tensor:
    """Psi / sigma of all rounds together: sqrt(sum over n of (j_n C / (m sigma))^2), j_n leavers in round n. [S]

    Gaussian mechanisms compose into one, adaptively (Dong, Roth and Su 2022). Conditional on who was sampled, as every
    strict sensitivity here: the other run has the same cohorts, the leavers' places empty, so that a leaver changes a
    sum by C; nothing is gained from others not knowing who came.
    """
    privacy = federation.privacy
    assert privacy is not None
    squares = torch.zeros(len(leavers), dtype=torch.float64)
    for segment, rounds in zip(segments, kept, strict=True):
        there = sampled(leavers, segment.trace.cohort).sum(2)  # [S, T]
        happened = torch.arange(there.shape[1]) < rounds[:, None]
        squares += (there * happened).double().square().sum(1)
    change = squares.sqrt() * privacy.update_clip / federation.clients_per_round
    return torch.where(change > 0, change / privacy.noise if privacy.noise else torch.inf, 0.0)
