"""The types that all other packages use.

Axes, always these letters, always in this order: S seed, T round, C client, m sampled client, n example, P weight;
R selected seeds, K local step, B position in a batch, E epoch, Q snapshot, q selected (seed, client) pairs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property

import torch
from torch import Tensor


class Status(StrEnum):
    """How a run of one seed ended."""

    DONE = "done"  # the stop rule was met
    NOT_REACHED = "not_reached"  # the target was not reached in max_rounds
    DIVERGED = "diverged"  # the weights stopped being finite
    REFUSED = "refused"  # the method does not apply to the scenario


@dataclass(frozen=True)
class Clients:
    """The data of all clients of all seeds, padded to the largest client."""

    images: Tensor  # [S, C, n, channels, height, width] float32, normalised
    labels: Tensor  # [S, C, n] int64
    size: Tensor  # [S, C] int64: number of real examples; the rest is padding

    @property
    def num_seeds(self) -> int:
        return self.images.shape[0]

    @property
    def num_clients(self) -> int:
        return self.images.shape[1]

    def real(self) -> Tensor:
        """Which positions hold an example, not padding. [S, C, n] bool"""
        return real_places(self.size, self.images.shape[2])

    @cached_property
    def fingerprint(self) -> bytes:
        """A digest of the data: all sizes, all labels, and the sum of every image."""
        sums = self.images.sum(dim=tuple(range(3, self.images.dim())), dtype=torch.float64)  # [S, C, n]
        digest = hashlib.sha256()
        for part in (sums, self.labels, self.size):
            digest.update(part.cpu().numpy().tobytes())
        return digest.digest()

    def to(self, device: torch.device) -> Clients:
        return Clients(*(getattr(self, field.name).to(device) for field in fields(self)))

    def repeated(self, times: int) -> Clients:
        """All seeds, one after another, so many times. [times S, ...]"""
        return Clients(*(torch.cat([getattr(self, field.name)] * times) for field in fields(self)))


def real_places(size: Tensor, places: int) -> Tensor:
    """Which of `places` positions hold an example of a client with `size` [...] examples. [..., places] bool"""
    return torch.arange(places, device=size.device) < size[..., None]
