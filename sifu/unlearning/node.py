"""A node: one model of the past, for every seed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Node:
    """A model of the lineage for each seed; branch -1 is before everything."""

    branch: Tensor  # [S] int64
    round: Tensor  # [S] int64

    def moved(self, branch: int, number: int | Tensor, which: Tensor) -> Node:
        """The node (branch, number) for the seeds `which` [S] bool, this one for the others."""
        return Node(torch.where(which, branch, self.branch), torch.where(which, number, self.round))
