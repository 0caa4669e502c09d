"""Keeps the history of a run while it happens."""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.history import Look, Segment, Trace
from sifu.models.flat import FlatModel
from sifu.types import Status


class Recorder:
    """Collects the scalars of every round and a snapshot of the weights every few."""

    def __init__(self, model: FlatModel, num_seeds: int, cohort_size: int, snapshot_every: int) -> None:
        self.model, self.num_seeds, self.cohort_size = model, num_seeds, cohort_size
        self.snapshot_every = snapshot_every
        self.rounds: list[tuple[Tensor, ...]] = []
        self.snapshots: list[Tensor] = []

    def add(self, number: int, seeds: Tensor, before: Tensor, cohort: Tensor, local: Tensor, weights: Tensor) -> None:
        """Round `number` (0: the first) of the rows `seeds` [R]; `weights` [S, P] are those of all seeds after it."""
        after = weights[seeds].unsqueeze(1)  # [R, 1, P]
        update = local - before.unsqueeze(1)  # [R, m, P]
        layers = self.model.layer_norms(update)  # [R, m, layers]
        step = (after.squeeze(1) - before).norm(dim=-1)  # [R]
        wide = (
            self._widen(part, fill) for part, fill in ((cohort, -1), ((after - local).norm(dim=-1), 0), (layers, 0))
        )
        clients, distance, layers = wide
        scalars = (clients, distance, layers.norm(dim=-1), layers, step)
        self.rounds.append(tuple(self._spread(part, seeds, -1 if part is clients else 0) for part in scalars))
        if (number + 1) % self.snapshot_every == 0:
            self.snapshots.append(weights.cpu().clone())

    def _widen(self, part: Tensor, fill: int) -> Tensor:
        """Rows [R, m, ...] with as many places as a cohort can have."""
        missing = self.cohort_size - part.shape[1]
        if not missing:
            return part
        return torch.cat([part, part.new_full((len(part), missing, *part.shape[2:]), fill)], dim=1)

    def _spread(self, part: Tensor, seeds: Tensor, fill: int) -> Tensor:
        """Rows [R, ...] at their places among all seeds."""
        whole = torch.full((self.num_seeds, *part.shape[1:]), fill, dtype=part.dtype, device=part.device)
        whole[seeds] = part
        return whole  # [S, ...]

    def segment(
        self,
        start: Tensor,
        final: Tensor,
        rounds: Tensor,
        status: tuple[Status, ...],
        available: Tensor,
        key_state: Tensor,
        looks: tuple[Look, ...],
    ) -> Segment:
        """The finished history, on the CPU."""
        kept = (
            torch.stack(self.snapshots, dim=1)
            if self.snapshots
            else start.new_empty(len(start), 0, start.shape[1]).cpu()
        )
        return Segment(
            start=start.cpu(),
            final=final.cpu(),
            rounds=rounds.cpu(),
            status=status,
            available=available.cpu(),
            key_state=key_state.cpu(),
            trace=self._trace(),
            snapshots=kept,
            snapshot_every=self.snapshot_every,
            looks=looks,
        )

    def _trace(self) -> Trace:
        if self.rounds:
            return Trace(*(torch.stack(parts, dim=1).cpu() for parts in zip(*self.rounds, strict=True)))
        none = torch.zeros(self.num_seeds, 0, self.cohort_size)  # a budget too small for a single round
        layers = none.unsqueeze(-1).expand(-1, -1, -1, len(self.model.sizes))
        return Trace(none.long(), none, none, layers, none.sum(2))
