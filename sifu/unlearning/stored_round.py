"""What a server that stores everything has of a past round: the model that it began with, and each client's update."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from sifu.hardware.upload import upload
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.past_round import PastRound


@dataclass(frozen=True)
class StoredRound:
    """A past round of every seed. Its cohort is empty (-1) where a seed's lineage does not have it."""

    past: PastRound  # with the chosen clients alone
    model: Tensor  # [S, P] that it began with
    update: Tensor  # [S, m, P] of each client; 0 in empty places


def stored_rounds(lineage: Lineage, clients: Tensor) -> Iterator[StoredRound]:
    """Every round of the lineage, branch after branch, with the updates of `clients` [S, C]."""
    for branch in range(len(lineage.segments)):
        for past, weights, local in lineage.sent(branch, clients):
            present = upload(past.cohort >= 0, weights.device)[..., None]  # [S, m, 1]
            yield StoredRound(past, weights.clone(), (local - weights[:, None]).where(present, 0.0))
