"""The lineage: the rounds that led to the current model, branch after branch.

H(u) = (theta_0^0, ..., theta_0^{T_1}, theta_1^0, ..., theta_u^{N_u}): a request goes back to a node, drops what came
after it, and grows a new branch. A node has the paper's coordinates: branch u (0: the training) and round n.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor

from sifu.certificate.empty_seats import increments_of
from sifu.certificate.refilled import cohorts_without, refilled_increments, single_sets
from sifu.certificate.rules import Rules
from sifu.certificate.sensitivity import (
    accumulate,
    sampled,
)
from sifu.errors import SifuError
from sifu.federation.engine import Engine
from sifu.federation.replay_check import ReplayCheck
from sifu.federation.rounds import Round
from sifu.federation.segment import Segment
from sifu.hardware.upload import upload
from sifu.unlearning.node import Node
from sifu.unlearning.past_round import PastRound, train_again
from sifu.unlearning.released_cut import ReleasedCut, released_cut
from sifu.unlearning.replay_cache import ReplayCache
from sifu.unlearning.training_without import TrainingWithout

Psi = list[Tensor]  # for each branch the sensitivity at its nodes 0..T: [S, T + 1]


@dataclass(frozen=True)
class Lineage:
    """The segments so far, and how much of each is still part of the lineage."""

    engine: Engine
    segments: tuple[Segment, ...]
    kept: tuple[Tensor, ...]  # [S] int64 each: rounds of a segment that are still part of it; -1: not even its start
    cache: ReplayCache = field(default_factory=ReplayCache, compare=False, repr=False)  # shared by all its branches

    @staticmethod
    def of(engine: Engine, segment: Segment, without: Sequence[TrainingWithout] = ()) -> Lineage:
        """The lineage of a training, before any request; `without`: the same training without some clients."""
        return Lineage(engine, (segment,), (segment.rounds,), ReplayCache(without=without))

    @property
    def start(self) -> Tensor:
        """theta_0^0. [S, P]"""
        return self.segments[0].start.to(self.engine.clients.images.device)

    @property
    def current(self) -> Tensor:
        """The current model. [S, P]"""
        return self.segments[-1].final.to(self.engine.clients.images.device)

    @property
    def end(self) -> Node:
        """The node of the current model."""
        return Node(torch.full_like(self.kept[-1], len(self.segments) - 1), self.segments[-1].rounds.clone())

    @property
    def nowhere(self) -> Node:
        """Before everything: what grows from here shares nothing with the past."""
        return Node(torch.full_like(self.kept[0], -1), torch.zeros_like(self.kept[0]))

    def early(self, rounds: int) -> Node:
        """The training after its first `rounds` rounds, or as many of them as the lineage still has."""
        return Node(torch.zeros_like(self.kept[0]), self.kept[0].clamp(min=0, max=rounds))

    @property
    def num_clients(self) -> int:
        """Clients of the training."""
        return int(self.segments[0].available.sum(1).max())

    def grow(self, node: Node, segment: Segment) -> Lineage:
        """The lineage that goes to `node` and on with a new branch."""
        return replace(self, segments=(*self.segments, segment), kept=(*self.cut(node).kept, segment.rounds))

    @property
    def stored(self) -> list[Tensor]:
        """How many rounds were trained on each branch that is still part of the lineage; -1 on the others. [S] each"""
        return [segment.rounds.where(kept >= 0, -1) for segment, kept in self._pairs]

    @property
    def _pairs(self) -> list[tuple[Segment, Tensor]]:
        """Each segment, and the rounds of it that are still part of the lineage."""
        return list(zip(self.segments, self.kept, strict=True))

    def at(self, rounds: Tensor, branch: Tensor | None = None, *, dropped: bool = False) -> Tensor:
        """The model after `rounds` [S] rounds of `branch` [S] (the training, if none is given). [S, P]

        With `dropped` also a round that the lineage has dropped, of a branch that it still has.
        """
        branch = torch.zeros_like(rounds) if branch is None else branch
        weights = self.start.clone()
        for u, (segment, last) in enumerate(zip(self.segments, self.stored if dropped else self.kept, strict=True)):
            on_branch = branch == u  # [S]
            if bool((on_branch & (rounds > last)).any()):
                raise SifuError(f"round {rounds.tolist()} of branch {u} is no longer part of the lineage")
            if bool(on_branch.any()):
                replayed = self.engine.replay(segment, rounds.where(on_branch, 0))
                weights[on_branch] = replayed[on_branch.to(weights.device)]
        return weights

    def sensitivity(self, clients: Tensor, rules: Rules, factor: float) -> Psi:
        """Psi(n, W) at every node of every branch, for the clients `clients` [S, C]; factor = B^K (equation 11)."""
        return [psi.amax(2) for psi in self.client_sensitivity(clients, rules, factor)]

    def client_sensitivity(self, clients: Tensor, rules: Rules, factor: float) -> list[Tensor]:
        """The same for each client alone, 0 for those not in `clients`; for all together where the rules count so.

        [S, T + 1, C] or [S, T + 1, 1] for each branch.
        """
        if rules.seats == "refilled":
            return self._refilled_sensitivity(clients, rules, factor)
        increments = [increments_of(self.engine, segment, clients, rules) for segment in self.segments]
        nodes = self._accumulate(increments, factor, reset=rules.branches == "reset")
        return [psi if psi.dim() == 3 else psi.unsqueeze(2) for psi in nodes]

    def refilled(self, sets: Sequence[Tensor], factor: float, spares: int | None = None) -> list[Tensor]:
        """Psi of each of the `sets` [S, C] with refilled seats, at every node of every branch. [S, T + 1, sets] each

        `spares`: see sifu/certificate/refilled.py. The training's part is made once: every stop rule begins with it.
        """
        increments = [self._refilled(segment, kept, sets, spares) for segment, kept in self._pairs]
        return self._accumulate(increments, self._contracting(sets, factor), reset=False)

    def cut(self, node: Node) -> Lineage:
        """The lineage as far as `node`."""
        kept = [
            torch.where(node.branch > u, rounds, torch.where(node.branch == u, node.round, -1))
            for u, rounds in enumerate(self.kept)
        ]
        return replace(self, kept=tuple(kept))

    def released_cut(self, clients: Tensor, rules: Rules, factor: float, limit: float) -> ReleasedCut:
        """Where the SIFU paper's code goes back to for the request to forget `clients` [S, C]."""
        available = [segment.available for segment in self.segments]
        earlier = [before & ~after for before, after in pairwise(available)]  # the requests so far
        rounds = [segment.rounds for segment in self.segments]

        def psi_of(forgotten: Tensor) -> list[Tensor]:
            """Psi of each forgotten client; -1 of the others, so that none of them has the largest. [S, T + 1, C]"""
            psi = self.client_sensitivity(forgotten, rules, factor)
            together = rules.sets != "max"
            return psi if together else [part.masked_fill(~forgotten.unsqueeze(1), -1.0) for part in psi]

        return released_cut(psi_of, rounds, [*earlier, clients], limit)

    def visits(self, clients: Tensor) -> Psi:
        """How often any of `clients` [S, C] has taken part before each node."""
        taking_part = [sampled(clients, segment.trace.cohort).any(2).double() for segment in self.segments]
        return self._accumulate(taking_part, 1.0, reset=False)

    def retained(self, every: int) -> Iterator[PastRound]:
        """Every `every`-th round of the lineage from the first on, branch after branch."""
        for branch, (segment, kept) in enumerate(zip(self.segments, self.kept, strict=True)):
            for number in range(0, int(kept.max()), every):
                yield PastRound.of(segment, branch, number, kept)

    def first_round(self, remain: Tensor) -> Tensor:
        """The mean of the models that the clients `remain` [S, C] sent in the first round; else theta_0^0. [S, P]"""
        if not self.segments[0].trace.cohort.shape[1]:
            return self.start
        past = PastRound.of(self.segments[0], 0, 0, self.kept[0])
        return self._train(self.start, past.only(remain)).weights

    def updates(self, branch: int, remain: Tensor) -> Iterator[tuple[PastRound, Tensor, Tensor]]:
        """Replay a branch: for each of its rounds the past round with only the clients `remain` [S, C], the model that
        it began with [S, P], and the mean of their updates [S, P].
        """
        for mine, weights, local in self.sent(branch, remain):
            mean = self.engine.weighted_mean(weights, local, upload(mine.cohort, weights.device))
            yield mine, weights, mean - weights

    def sent(self, branch: int, remain: Tensor) -> Iterator[tuple[PastRound, Tensor, Tensor]]:
        """As `updates`, with the weights that each client sent [S, m, P]; those of other places mean nothing.

        A server would have stored the updates; here they are trained again, and cached while there is room. Where the
        next model is kept as a snapshot, the forgotten clients are not trained at all. The host waits for a GPU only
        once in many rounds: other data than the history's are noticed by the end of the branch, not in the round.
        """
        segment, kept = self.segments[branch], self.kept[branch]
        weights, check = segment.start.to(self.start.device), ReplayCheck()
        for number in range(int(kept.max())):
            past = PastRound.of(segment, branch, number, kept)
            snapshot = segment.snapshot_after(number)
            if snapshot is None:
                result = self.cache.round(segment, number, past.cohort, partial(self._train, weights, past, check))
            else:
                result = self._train(weights, past.only(remain), check)
            yield past.hide(~remain) if snapshot is None else past.only(remain), weights, result.local
            if snapshot is None:
                weights = result.weights
            else:
                happened = upload(past.happened, weights.device)[:, None]  # [S, 1]
                weights = torch.where(happened, upload(snapshot, weights.device), weights)
        check.finish()

    def accumulated(self, remain: Tensor, every: int) -> Tensor:
        """theta_0^0 plus the mean updates of `remain` [S, C] in one round in `every` of each branch. [S, P]

        The sum over the training is made once: every stop rule begins with it.
        """
        which = (tuple(self.kept[0].tolist()), remain.numpy().tobytes(), every)
        model = self.cache.total(self.segments[0], which, partial(self._added_up, self.start, 0, remain, every))
        for branch in range(1, len(self.segments)):
            model = self._added_up(model, branch, remain, every)
        return model

    def _added_up(self, model: Tensor, branch: int, remain: Tensor, every: int) -> Tensor:
        for number, (_, _, update) in enumerate(self.updates(branch, remain)):
            if number % every == 0:
                model = model + update
        return model

    def last_round(self, remain: Tensor) -> Tensor:
        """The mean of the models that the clients `remain` [S, C] sent in the last round of the training that any of
        them took part in; theta_0^0 where there was none. [S, P]
        """
        segment, cohort = self.segments[0], self.segments[0].trace.cohort
        if not cohort.shape[1]:
            return self.start
        number = torch.arange(1, cohort.shape[1] + 1)
        took_part = sampled(remain, cohort).any(2) & (number <= self.kept[0][:, None])  # [S, T]
        last = torch.where(took_part, number, 0).amax(1)  # [S] rounds up to it; 0: none
        past = PastRound.last(segment, last).only(remain)
        weights = self.engine.replay(segment, (last - 1).clamp(min=0))
        local = self._train(weights, past).local
        return self.engine.weighted_mean(weights, local, past.cohort.to(weights.device))

    def _train(self, weights: Tensor, past: PastRound, check: ReplayCheck | None = None) -> Round:
        """Train a past round again, or some of its clients; each must move as far as it did then.

        `check` compares that later, with those of other rounds; None: at once.
        """
        result, rows = train_again(self.engine, weights, past), past.rows  # other rows may hold NaN
        at, recorded = upload(rows, weights.device), past.norm.where(past.cohort >= 0, 0.0)[rows]
        (check or ReplayCheck(rounds=1)).add(weights[at], result.local[at], recorded)
        return result

    def last_at_most(self, values: Psi, limit: Tensor | float) -> Node:
        """The last node of the lineage with a value of at most `limit` (equation 13)."""
        limit = torch.as_tensor(limit, dtype=torch.float64)
        node = self.nowhere
        for u, (value, kept) in enumerate(zip(values, self.kept, strict=True)):
            number = torch.arange(value.shape[1])
            fits = (number <= kept[:, None]) & (value <= limit.reshape(-1, 1))  # [S, T + 1]
            last = torch.where(fits, number, -1).amax(1)  # [S]
            found = last >= 0
            node = Node(torch.where(found, u, node.branch), torch.where(found, last, node.round))
        return node

    @property
    def left_shares(self) -> list[Tensor]:
        """For each request so far the share of the examples that left with it. [S] float64 each"""
        pairs = zip(self.segments, self.segments[1:], strict=False)
        return [self.share_of(before.available & ~after.available, before.available) for before, after in pairs]

    def share_of(self, clients: Tensor, available: Tensor) -> Tensor:
        """The share of the `available` [S, C] clients' examples that `clients` [S, C] hold. [S] float64"""
        held = self.engine.clients.size.cpu().double().where(available, 0.0)
        return held.where(clients, 0.0).sum(1) / held.sum(1)

    def value_at(self, values: Psi, node: Node) -> Tensor:
        """The value at a node; 0 before everything. [S]"""
        found = torch.zeros(len(node.branch), dtype=torch.float64)
        for u, value in enumerate(values):
            number = node.round.clamp(max=value.shape[1] - 1)
            found = torch.where(node.branch == u, value.gather(1, number[:, None]).squeeze(1), found)
        return found

    def _contracting(self, sets: Sequence[Tensor], factor: float) -> float | list[Tensor]:
        """B^K of every round with refilled seats; below 1 also where a round cannot contract. [S, T, sets] each

        A round brings two models together by local training. Nobody trains where the cohort is empty, or would be
        without a set: then the factor is 1.
        """
        if factor >= 1:
            return factor
        factors = []
        for segment in self.segments:
            cohorts = [cohorts_without(segment, clients, self.engine.federation) for clients in sets]
            idle = torch.stack([(cohort < 0).all(2) for cohort in cohorts], dim=2)  # [S, T, sets]
            idle |= (segment.trace.cohort < 0).all(2, keepdim=True)
            factors.append(torch.full(idle.shape, factor, dtype=torch.float64).masked_fill(idle, 1.0))
        return factors

    def _accumulate(self, increments: list[Tensor], factor: float | list[Tensor], *, reset: bool) -> list[Tensor]:
        """Sums along the lineage: a branch starts with the value of the node that it grew from. `factor`: one for all
        rounds, or for each branch one a round.
        """
        nodes: list[Tensor] = []
        start = None
        factors: Sequence[float | Tensor] = factor if isinstance(factor, list) else [factor] * len(increments)
        for part, kept, by_round in zip(increments, self.kept, factors, strict=True):
            values = accumulate(part, by_round, None if reset else start)  # [S, T + 1, ...]
            nodes.append(values)
            last = values[torch.arange(len(kept)), kept.clamp(min=0)]
            before = torch.zeros_like(last) if start is None else start
            start = torch.where(kept.reshape(-1, *[1] * (last.dim() - 1)) >= 0, last, before)
        return nodes

    def _refilled_sensitivity(self, clients: Tensor, rules: Rules, factor: float) -> list[Tensor]:
        """Psi with refilled seats, as far as the federation's spare clients tell. [S, T + 1, C] or [S, T + 1, 1]"""
        spares = self.engine.federation.spare_seats
        if rules.sets != "max":
            return self.refilled([clients], factor, spares)
        found = self.refilled(single_sets(clients), factor, spares)  # a member of each seed's set in each column
        places = torch.argsort((~clients).long(), dim=1, stable=True)[:, : found[0].shape[2]]  # [S, sets]
        spread = [part.new_zeros(*part.shape[:2], clients.shape[1]) for part in found]
        index = [places.unsqueeze(1).expand_as(part) for part in found]
        return [whole.scatter_add_(2, at, part) for whole, at, part in zip(spread, index, found, strict=True)]

    def _refilled(self, segment: Segment, kept: Tensor, sets: Sequence[Tensor], spares: int | None) -> Tensor:
        """What a segment adds to Psi of each set with refilled seats, as far as it is kept. [S, T, sets]"""
        until = kept.clamp(min=0)
        known = self.cache.increments(sets, until) if segment is self.segments[0] and spares is None else None
        if known is not None:
            return known
        which = ("refilled", *(part.numpy().tobytes() for part in (until, *sets)), spares)
        make = partial(refilled_increments, self.engine, segment, sets, until, spares)
        return self.cache.total(segment, which, make) if segment is self.segments[0] else make()
