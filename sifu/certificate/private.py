"""What noise in every round hides: the lineage of a federation that was trained privately."""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.certificate.accountant import Stretch, Stretches
from sifu.certificate.sensitivity import sampled
from sifu.lineage import History


def stretches_of(history: History) -> list[Stretches]:
    """For each seed the rounds of its lineage, by how many clients could be sampled."""
    rounds = torch.stack([kept.clamp(min=0) for kept in history.kept], dim=1)  # [S, branches]
    clients = torch.stack([segment.available.sum(1) for segment in history.segments], dim=1)
    return [
        tuple(Stretch(c, r) for c, r in zip(*pair, strict=True))
        for pair in zip(clients.tolist(), rounds.tolist(), strict=True)
    ]


def noise_ratio(history: History, leavers: Tensor) -> Tensor:
    """Psi / sigma of all rounds together: sqrt(sum over n of (j_n C / (m sigma))^2), j_n leavers in round n. [S]

    Gaussian mechanisms compose into one, adaptively (Dong, Roth and Su 2022). Conditional on who was sampled, as every
    strict sensitivity here: the other run has the same cohorts, the leavers' places empty, so that a leaver changes a
    sum by C; nothing is gained from others not knowing who came.
    """
    federation = history.engine.federation
    privacy = federation.privacy
    assert privacy is not None
    squares = torch.zeros(len(leavers), dtype=torch.float64)
    for segment, kept in zip(history.whole, history.kept, strict=True):
        there = sampled(leavers, segment.trace.cohort).sum(2)  # [S, T]
        happened = torch.arange(there.shape[1]) < kept[:, None]
        squares += (there * happened).double().square().sum(1)
    change = squares.sqrt() * privacy.update_clip / federation.clients_per_round
    return torch.where(change > 0, change / privacy.noise if privacy.noise else torch.inf, 0.0)
