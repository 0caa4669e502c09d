"""Delta with empty seats: how far a round's average is from that of its cohort without some clients.

No retraining leaves a seat empty: see sifu/certificate/refilled.py. The paper counts so.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.certificate.rules import Rules
from sifu.certificate.sensitivity import (
    client_increments,
    client_weights,
    forgotten_weight,
    sampled,
    set_increments,
    spread_clients,
)
from sifu.federation.engine import Engine
from sifu.federation.segment import Segment


def increments_of(engine: Engine, segment: Segment, clients: Tensor, rules: Rules) -> Tensor:
    """What a segment adds to Psi in each round: for each of `clients` [S, C] alone [S, T, C], or together [S, T]."""
    size = engine.clients.size.cpu()
    if rules.sets == "max":
        single = client_increments(segment, size, rules.weight)
        spread = spread_clients(single, segment.trace.cohort, size.shape[1])  # [S, T, C]
        return spread.masked_fill(~clients.unsqueeze(1), 0.0)  # a product would turn inf into NaN
    if rules.sets == "bound":
        return set_increments(segment, size, clients, rules.weight)
    return _exact_increments(engine, segment, clients, rules.weight)


def _exact_increments(engine: Engine, segment: Segment, clients: Tensor, weight: str) -> Tensor:
    """Delta_W itself, from the updates of a replay of the whole segment. [S, T]"""
    size = engine.clients.size.cpu()
    v = client_weights(segment, size, weight).where(sampled(clients, segment.trace.cohort), 0.0)  # [S, T, m]
    rest = 1 - forgotten_weight(segment, size, clients, weight)  # [S, T]
    moved = torch.zeros_like(rest)
    for number, rows, _, result in engine.walk(segment):
        pull = (result.local - result.weights.unsqueeze(1)).double().cpu()  # [R, m, P]
        moved[rows, number] = (pull * v[rows, number][..., None]).sum(1).norm(dim=1)
    return torch.where(rest < 1e-12, segment.trace.step_norm.double(), moved / rest.clamp(min=1e-12))
