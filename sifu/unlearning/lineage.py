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

from sifu.certificate.rules import Rules
from sifu.certificate.sensitivity import sampled
from sifu.errors import SifuError
from sifu.federation.engine import Engine
from sifu.federation.segment import Segment
from sifu.hardware.upload import upload
from sifu.unlearning.branch import Branch
from sifu.unlearning.branch_sensitivity import accumulate_branches, client_sensitivity, refilled_sensitivity
from sifu.unlearning.node import Node
from sifu.unlearning.past_round import PastRound
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
        return [branch.segment.rounds.where(branch.kept >= 0, -1) for branch in self.branches]

    @property
    def branches(self) -> list[Branch]:
        """Each segment, and the rounds of it that are still part of the lineage."""
        pairs = enumerate(zip(self.segments, self.kept, strict=True))
        return [Branch(self.engine, number, segment, kept, self.cache) for number, (segment, kept) in pairs]

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
        return client_sensitivity(self.branches, clients, rules, factor)

    def refilled(self, sets: Sequence[Tensor], factor: float, spares: int | None = None) -> list[Tensor]:
        """Psi of each of the `sets` [S, C] with refilled seats, at every node of every branch. [S, T + 1, sets] each

        `spares`: see sifu/certificate/refilled.py. The training's part is made once: every stop rule begins with it.
        """
        return refilled_sensitivity(self.branches, sets, factor, spares)

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
        return accumulate_branches(self.branches, taking_part, 1.0, reset=False)

    def retained(self, every: int) -> Iterator[PastRound]:
        """Every `every`-th round of the lineage from the first on, branch after branch."""
        for branch, (segment, kept) in enumerate(zip(self.segments, self.kept, strict=True)):
            for number in range(0, int(kept.max()), every):
                yield PastRound.of(segment, branch, number, kept)

    def first_round(self, remain: Tensor) -> Tensor:
        """The mean of the models that the clients `remain` [S, C] sent in the first round; else theta_0^0. [S, P]"""
        return self.branches[0].first_round(remain)

    def updates(self, branch: int, remain: Tensor) -> Iterator[tuple[PastRound, Tensor, Tensor]]:
        """Replay a branch: for each of its rounds the past round with only the clients `remain` [S, C], the model that
        it began with [S, P], and the mean of their updates [S, P].
        """
        for mine, weights, local in self.sent(branch, remain):
            mean = self.engine.weighted_mean(weights, local, upload(mine.cohort, weights.device))
            yield mine, weights, mean - weights

    def sent(self, branch: int, remain: Tensor) -> Iterator[tuple[PastRound, Tensor, Tensor]]:
        """As `updates`, with the weights that each client sent [S, m, P]; those of other places mean nothing.

        Other data than the history's are noticed by the end of the branch, not in the round.
        """
        return self.branches[branch].sent(remain)

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
        return self.branches[0].last_round(remain)

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
