"""Records the history of a run."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from sifu.core.types import Status
from sifu.federation.segment import Evaluation, Segment, Trace
from sifu.models.flat import FlatModel


class Recorder:
    """Collects the scalars of every round, and a snapshot of the weights every `snapshot_every` rounds.

    The scalars of `snapshot_every` rounds are collected on the device and then copied to the host without waiting, so
    that the memory used on the device does not grow with the rounds.
    """

    def __init__(self, model: FlatModel, start: Tensor, cohort_size: int, snapshot_every: int) -> None:
        self.model, self.cohort_size, self.snapshot_every = model, cohort_size, snapshot_every
        places = (snapshot_every, len(start), cohort_size)
        self.recent = Trace(
            cohort=start.new_full(places, -1, dtype=torch.int64),
            distance=start.new_zeros(places),
            update_norm=start.new_zeros(places),
            layer_norm=start.new_zeros(*places, len(model.sizes)),
            step_norm=start.new_zeros(places[:2]),
        )  # the scalars of the last rounds: [rounds, S, ...]
        self.count = 0
        self.earlier: list[tuple[Tensor, ...]] = []
        self.snapshots: list[Tensor] = []

    def add(self, number: Tensor, seeds: Tensor, before: Tensor, cohort: Tensor, local: Tensor, after: Tensor) -> None:
        """Record round `number` [] (0: the first) of the rows `seeds` [R]; weights `before` and `after` it [R, P]."""
        slot = (number % self.snapshot_every).expand(len(seeds))
        layers = self.model.layer_norms(local - before.unsqueeze(1))  # [R, m, layers]
        distance = (after.unsqueeze(1) - local).norm(dim=-1)  # [R, m]
        wide = (self._widen(part, fill) for part, fill in ((cohort, -1), (distance, 0), (layers, 0)))
        clients, distance, layers = wide
        scalars = (clients, distance, layers.norm(dim=-1), layers, (after - before).norm(dim=-1))
        for target, part in zip(vars(self.recent).values(), scalars, strict=True):
            target.index_put_((slot, seeds), part)

    def keep(self, count: int, weights: Tensor) -> None:
        """Called after each round: `count` rounds are done, `weights` [S, P] are the weights of all seeds now."""
        self.count = count
        if count % self.snapshot_every == 0:
            self._move_to_host(self.snapshot_every)
            self.snapshots.append(to_host(weights))

    def state(self) -> dict[str, Tensor]:
        """All that was recorded so far, by name, on the CPU; copies of what still changes."""
        tensors = {f"recent.{name}": part.to("cpu", copy=True) for name, part in vars(self.recent).items()}
        for index, parts in enumerate(self.earlier):
            named = zip(vars(self.recent), parts, strict=True)
            tensors |= {f"earlier.{index}.{name}": part for name, part in named}
        return tensors | {f"snapshots.{index}": weights for index, weights in enumerate(self.snapshots)}

    def resume(self, count: int, state: Mapping[str, Tensor]) -> None:
        """Continue after `count` rounds with the tensors that `state` returned then."""
        self.count = count
        for name, part in vars(self.recent).items():
            part.copy_(state[f"recent.{name}"])
        indices = range(count // self.snapshot_every)
        self.earlier = [tuple(state[f"earlier.{index}.{name}"] for name in vars(self.recent)) for index in indices]
        self.snapshots = [state[f"snapshots.{index}"] for index in indices]

    def _move_to_host(self, count: int) -> None:
        """Copy the last `count` rounds to the host, and clear them on the device."""
        self.earlier.append(tuple(to_host(part[:count]) for part in vars(self.recent).values()))
        for part in vars(self.recent).values():
            part.fill_(-1 if part is self.recent.cohort else 0)

    def _widen(self, part: Tensor, fill: int) -> Tensor:
        """Rows [R, m, ...], padded with `fill` to the maximum size of a cohort."""
        missing = self.cohort_size - part.shape[1]
        if not missing:
            return part
        return torch.cat([part, part.new_full((len(part), missing, *part.shape[2:]), fill)], dim=1)

    def segment(
        self,
        start: Tensor,
        final: Tensor,
        rounds: Tensor,
        status: tuple[Status, ...],
        available: Tensor,
        key_state: Tensor,
        evaluations: tuple[Evaluation, ...],
    ) -> Segment:
        """The finished history, on the CPU."""
        self._move_to_host(self.count % self.snapshot_every)
        final, rounds = final.cpu(), rounds.cpu()  # waits for the device, and so for all pending copies
        snapshots = (
            torch.stack(self.snapshots, dim=1)
            if self.snapshots
            else start.new_empty(len(start), 0, start.shape[1]).cpu()
        )
        return Segment(
            start=start.cpu(),
            final=final,
            rounds=rounds,
            status=status,
            available=available.cpu(),
            key_state=key_state.cpu(),
            trace=self._trace(rounds),
            snapshots=snapshots,
            snapshot_every=self.snapshot_every,
            evaluations=evaluations,
        )

    def _trace(self, rounds: Tensor) -> Trace:
        """All rounds, seed by seed. Those after a seed's last round, `rounds` [S], are cleared: it may have stayed in
        the batch for some more.
        """
        trace = Trace(*(torch.cat(parts).transpose(0, 1).contiguous() for parts in zip(*self.earlier, strict=True)))
        over = torch.arange(trace.cohort.shape[1]) >= rounds[:, None]  # [S, T]
        for part in vars(trace).values():
            part[over] = -1 if part is trace.cohort else 0
        return trace


class CohortRecorder(Recorder):
    """Only who took part, which costs are counted from: for models whose past nobody asks for. Replays are refused."""

    def add(self, number: Tensor, seeds: Tensor, before: Tensor, cohort: Tensor, local: Tensor, after: Tensor) -> None:
        slot = (number % self.snapshot_every).expand(len(seeds))
        self.recent.cohort.index_put_((slot, seeds), self._widen(cohort, -1))

    def keep(self, count: int, weights: Tensor) -> None:
        self.count = count
        if count % self.snapshot_every == 0:
            self._move_to_host(self.snapshot_every)
            self.snapshots.append(weights.new_full((len(weights), 1), torch.nan).cpu())  # in place of the weights


def to_host(tensor: Tensor) -> Tensor:
    """A copy on the CPU; from a GPU it is complete once the device has finished all its work so far."""
    if tensor.device.type == "cpu":
        return tensor.clone()
    return torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True).copy_(tensor, non_blocking=True)
