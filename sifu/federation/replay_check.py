"""Replayed rounds must be those of the history: every client moves as far as it did then."""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.errors import StoreError

NOT_THE_SAME = "the history was not made with these clients and keys: its rounds differ on replay"
_TOLERANCE = 1e-2  # of the updates' norms: other data differ by more, a GPU's rounding by less
_ROUNDS = 64  # compared at a time: a comparison waits for the device


class ReplayCheck:
    """Compares the lengths of replayed updates with the recorded ones, many rounds at a time."""

    def __init__(self, rounds: int = _ROUNDS) -> None:
        self._at_a_time = rounds
        self._moved: list[Tensor] = []  # on the device
        self._recorded: list[Tensor] = []  # on the host
        self._same: list[Tensor] = []  # on the device

    def add(self, weights: Tensor, local: Tensor, recorded: Tensor, same: Tensor | None = None) -> None:
        """A round: clients' weights `local` [R, m, P] from `weights` [R, P], and their recorded distances [R, m].

        `same`: whether its cohort is the recorded one.
        """
        self._same += [] if same is None else [same]
        self._moved.append((local - weights.unsqueeze(1)).norm(dim=-1).flatten())
        self._recorded.append(recorded.flatten())
        if len(self._moved) == self._at_a_time:
            self.finish()

    def finish(self) -> None:
        """Refuse the rounds that were added since the last comparison, if one of them is not as recorded."""
        if not self._moved:
            return
        moved, recorded = torch.cat(self._moved).cpu(), torch.cat(self._recorded)
        same = not self._same or bool(torch.stack(self._same).all())
        self._moved, self._recorded, self._same = [], [], []
        if not same or not torch.allclose(moved, recorded, rtol=_TOLERANCE, atol=_TOLERANCE):
            raise StoreError(NOT_THE_SAME)
