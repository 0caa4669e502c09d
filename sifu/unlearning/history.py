"""History as a lineage: the rounds that led to the present model, branch after branch.

H(u) = (theta_0^0, ..., theta_0^{T_1}, theta_1^0, ..., theta_u^{N_u}): a request goes back to a node, drops what came
after it, and grows a new branch. A node has the paper's coordinates: branch u (0: the training) and round n.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import torch
from torch import Tensor

from sifu.certificate.rules import Rules
from sifu.certificate.sensitivity import (
    accumulate,
    client_increments,
    client_weights,
    forgotten_weight,
    sampled,
    set_increments,
    spread_clients,
)
from sifu.errors import SifuError
from sifu.federation.engine import Engine, refuse_other_updates
from sifu.federation.rounds import Round
from sifu.federation.segment import Segment
from sifu.unlearning.kept import Kept
from sifu.unlearning.past_round import Past, train_again
from sifu.unlearning.replay_cache import Sent


@dataclass(frozen=True)
class Node:
    """A model of the lineage for each seed; branch -1 is before everything."""

    branch: Tensor  # [S] int64
    round: Tensor  # [S] int64

    def moved(self, branch: int, number: int | Tensor, which: Tensor) -> Node:
        """The node (branch, number) for the seeds `which` [S] bool, this one for the others."""
        return Node(torch.where(which, branch, self.branch), torch.where(which, number, self.round))


Psi = list[Tensor]  # for each branch the sensitivity at its nodes 0..T: [S, T + 1]


@dataclass(frozen=True)
class History:
    """The segments so far, and how much of each is still part of the lineage."""

    engine: Engine
    whole: tuple[Segment, ...]  # a method reads `segments`, where what it does not keep is blanked out
    kept: tuple[Tensor, ...]  # [S] int64 each: rounds that are left of it; -1: not even its start
    readable: frozenset[Kept] = frozenset(Kept)
    sent: Sent = field(default_factory=Sent, compare=False, repr=False)  # shared by all that grows from this one

    @staticmethod
    def of(engine: Engine, segment: Segment) -> History:
        """The history of a training."""
        return History(engine, (segment,), (segment.rounds,))

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The segments as far as they are readable."""
        return tuple(_blank(segment, self.readable) for segment in self.whole)

    @property
    def start(self) -> Tensor:
        """theta_0^0. [S, P]"""
        return self.segments[0].start.to(self.engine.clients.images.device)

    @property
    def current(self) -> Tensor:
        """The model in use. [S, P]"""
        return self.segments[-1].final.to(self.engine.clients.images.device)

    @property
    def end(self) -> Node:
        """The node of the model in use."""
        return Node(torch.full_like(self.kept[-1], len(self.segments) - 1), self.segments[-1].rounds)

    @property
    def nowhere(self) -> Node:
        """Before everything: what grows from here shares nothing with the past."""
        return Node(torch.full_like(self.kept[0], -1), torch.zeros_like(self.kept[0]))

    def early(self, rounds: int) -> Node:
        """The training after its first rounds, or as many of them as are left."""
        return Node(torch.zeros_like(self.kept[0]), self.kept[0].clamp(min=0, max=rounds))

    @property
    def num_clients(self) -> int:
        """Clients of the training."""
        return int(self.segments[0].available.sum(1).max())

    def shown_to(self, keeps: frozenset[Kept]) -> History:
        """The history as a method sees it that keeps only `keeps`: the rest is blanked out."""
        return replace(self, readable=keeps)

    def grow(self, node: Node, segment: Segment) -> History:
        """The lineage that goes to `node` and on with a new branch."""
        kept = [
            torch.where(node.branch > u, rounds, torch.where(node.branch == u, node.round, -1))
            for u, rounds in enumerate(self.kept)
        ]
        return replace(self, whole=(*self.whole, segment), kept=(*kept, segment.rounds))

    def at(self, rounds: Tensor, branch: Tensor | None = None) -> Tensor:
        """The model after `rounds` [S] rounds of `branch` [S] (the training, if none is given). [S, P]"""
        self._read(Kept.MODELS)
        branch = torch.zeros_like(rounds) if branch is None else branch
        weights = self.start.clone()
        for u, (segment, kept) in enumerate(zip(self.whole, self.kept, strict=True)):
            here = branch == u
            if bool((here & (rounds > kept)).any()):
                raise SifuError(f"round {rounds.tolist()} of branch {u} is no longer part of the lineage")
            if bool(here.any()):
                weights[here] = self.engine.replay(segment, rounds.where(here, 0))[here.to(weights.device)]
        return weights

    def sensitivity(self, leavers: Tensor, rules: Rules, factor: float) -> Psi:
        """Psi(n, W) at every node of every branch, for the clients `leavers` [S, C]; factor = B^K (equation 11)."""
        self._read(Kept.SCALARS)
        increments = [self._increments(segment, leavers, rules) for segment in self.whole]
        nodes = self._accumulate(increments, factor, reset=rules.branches == "reset")
        return [psi.amax(2) if psi.dim() == 3 else psi for psi in nodes]

    def visits(self, leavers: Tensor) -> Psi:
        """How often any of `leavers` [S, C] has taken part before each node."""
        self._read(Kept.COHORTS)
        taking_part = [sampled(leavers, segment.trace.cohort).any(2).double() for segment in self.whole]
        return self._accumulate(taking_part, 1.0, reset=False)

    def retained(self, every: int) -> Iterator[Past]:
        """Every `every`-th round of the lineage from the first on, branch after branch."""
        self._read(Kept.NORMS)
        self._read(Kept.COHORTS)
        for branch, (segment, kept) in enumerate(zip(self.whole, self.kept, strict=True)):
            for number in range(0, int(kept.max()), every):
                yield Past.of(segment, branch, number, kept)

    def first_round(self, remain: Tensor) -> Tensor:
        """The mean of what the clients `remain` [S, C] sent in the training's first round; theta_0^0 if nobody did."""
        self._read(Kept.FIRST_ROUND)
        if not self.whole[0].trace.cohort.shape[1]:
            return self.start
        past = Past.of(self.whole[0], 0, 0, self.kept[0])
        return self._train(self.start, past.only(remain)).weights

    def updates(self, branch: int, remain: Tensor) -> Iterator[tuple[Past, Tensor, Tensor]]:
        """What the clients `remain` [S, C] sent in every round that is left of a branch: who did, to which model
        [S, P], and the mean of their updates [S, P].

        A server would have stored it; here it is trained once more, and kept while there is room. Where the next model
        is at hand as a snapshot, those who left are not even asked.
        """
        self._read(Kept.UPDATES)
        self._read(Kept.COHORTS)
        segment, kept = self.whole[branch], self.kept[branch]
        weights = segment.start.to(self.start.device)
        for number in range(int(kept.max())):
            past = Past.of(segment, branch, number, kept)
            snapshot = segment.snapshot_after(number)
            if snapshot is None:
                result = self.sent.round(segment, number, past.cohort, partial(self._train, weights, past))
            else:
                result = self._train(weights, past.only(remain))
            mine = past.hide(~remain) if snapshot is None else past.only(remain)
            sent = self.engine.weighted_mean(weights, result.local, mine.cohort.to(weights.device))
            yield mine, weights, sent - weights
            there = past.happened.to(weights.device)[:, None]
            weights = result.weights if snapshot is None else torch.where(there, snapshot.to(weights.device), weights)

    def accumulated(self, remain: Tensor, every: int) -> Tensor:
        """theta_0^0 plus the mean updates of `remain` [S, C] in one round in `every` of each branch. [S, P]

        The sum over the training is made once: every stop rule begins with it.
        """
        which = (tuple(self.kept[0].tolist()), remain.numpy().tobytes(), every)
        model = self.sent.total(self.whole[0], which, partial(self._added_up, self.start, 0, remain, every))
        for branch in range(1, len(self.whole)):
            model = self._added_up(model, branch, remain, every)
        return model

    def _added_up(self, model: Tensor, branch: int, remain: Tensor, every: int) -> Tensor:
        for number, (_, _, update) in enumerate(self.updates(branch, remain)):
            if number % every == 0:
                model = model + update
        return model

    def last_round(self, remain: Tensor) -> Tensor:
        """The mean of what the clients `remain` [S, C] sent in the training's last round; where nobody of them did,
        the model that it began with. [S, P]
        """
        self._read(Kept.UPDATES)
        self._read(Kept.COHORTS)
        segment, kept = self.whole[0], self.kept[0]
        if not segment.trace.cohort.shape[1]:
            return self.start
        past = Past.last(segment, kept).only(remain)
        weights = self.engine.replay(segment, (kept - 1).clamp(min=0))
        local = self._train(weights, past).local
        return self.engine.weighted_mean(weights, local, past.cohort.to(weights.device))

    def _train(self, weights: Tensor, past: Past) -> Round:
        """A round of the past once more, or a part of its clients: they must move as far as they did."""
        result, rows = train_again(self.engine, weights, past), past.rows  # weights of others may not even be numbers
        at = rows.to(weights.device)
        refuse_other_updates(weights[at], result.local[at], past.norm.where(past.cohort >= 0, 0.0)[rows])
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

    def value_at(self, values: Psi, node: Node) -> Tensor:
        """The value at a node; 0 before everything. [S]"""
        found = torch.zeros(len(node.branch), dtype=torch.float64)
        for u, value in enumerate(values):
            number = node.round.clamp(max=value.shape[1] - 1)
            found = torch.where(node.branch == u, value.gather(1, number[:, None]).squeeze(1), found)
        return found

    def _accumulate(self, increments: list[Tensor], factor: float, *, reset: bool) -> list[Tensor]:
        """Sums along the lineage: a branch goes on from the value of the node that it grew from."""
        nodes: list[Tensor] = []
        start = None
        for part, kept in zip(increments, self.kept, strict=True):
            values = accumulate(part, factor, None if reset else start)  # [S, T + 1, ...]
            nodes.append(values)
            last = values[torch.arange(len(kept)), kept.clamp(min=0)]
            before = torch.zeros_like(last) if start is None else start
            start = torch.where(kept.reshape(-1, *[1] * (last.dim() - 1)) >= 0, last, before)
        return nodes

    def _increments(self, segment: Segment, leavers: Tensor, rules: Rules) -> Tensor:
        """What a segment adds to Psi in each round: for each leaver [S, T, C], or for all together [S, T]."""
        size = self.engine.clients.size.cpu()
        if rules.sets == "max":
            alone = client_increments(segment, size, rules.weight)
            spread = spread_clients(alone, segment.trace.cohort, size.shape[1])  # [S, T, C]
            return spread.masked_fill(~leavers.unsqueeze(1), 0.0)  # a product would make NaN of inf
        if rules.sets == "bound":
            return set_increments(segment, size, leavers, rules.weight)
        self._read(Kept.UPDATES)
        return self._exact_increments(segment, leavers, rules.weight)

    def _exact_increments(self, segment: Segment, leavers: Tensor, weight: str) -> Tensor:
        """Delta_W itself, from the updates of a replay of the whole segment. [S, T]"""
        size = self.engine.clients.size.cpu()
        v = client_weights(segment, size, weight).where(sampled(leavers, segment.trace.cohort), 0.0)  # [S, T, m]
        rest = 1 - forgotten_weight(segment, size, leavers, weight)  # [S, T]
        moved = torch.zeros_like(rest)
        for number, rows, result in self.engine.walk(segment):
            pull = (result.local - result.weights.unsqueeze(1)).double().cpu()  # [R, m, P]
            moved[rows, number] = (pull * v[rows, number][..., None]).sum(1).norm(dim=1)
        return torch.where(rest < 1e-12, segment.trace.step_norm.double(), moved / rest.clamp(min=1e-12))

    def _read(self, what: Kept) -> None:
        if what not in self.readable:
            raise SifuError(f"this method reads {what.value} without declaring it: add Kept.{what.name} to its `keeps`")


def _blank(segment: Segment, keeps: frozenset[Kept]) -> Segment:
    """A segment without what is not kept."""
    if keeps == frozenset(Kept):
        return segment
    trace, nan = segment.trace, torch.nan
    if Kept.SCALARS not in keeps:
        trace = replace(trace, distance=torch.full_like(trace.distance, nan), step_norm=trace.step_norm * nan)
    if Kept.NORMS not in keeps:
        trace = replace(trace, update_norm=trace.update_norm * nan, layer_norm=trace.layer_norm * nan)
    if Kept.COHORTS not in keeps:
        trace = replace(trace, cohort=torch.full_like(trace.cohort, -1))
    if Kept.MODELS not in keeps:
        segment = replace(segment, snapshots=segment.snapshots.new_full((), nan).expand_as(segment.snapshots))
    return replace(segment, trace=trace, key_state=segment.key_state * 0)
