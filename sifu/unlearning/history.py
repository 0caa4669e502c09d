"""The history as a method sees it: only what the method declares to keep, and copies that it may change."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from sifu.certificate.private_rounds import stretches_of
from sifu.certificate.rules import Rules
from sifu.certificate.stretch import Stretches
from sifu.errors import MethodError
from sifu.unlearning.contribution import Contribution, contributions, last_contribution, last_updates
from sifu.unlearning.kept import Kept, kept_for
from sifu.unlearning.lineage import Lineage, Psi
from sifu.unlearning.node import Node
from sifu.unlearning.past_round import PastRound
from sifu.unlearning.released_cut import ReleasedCut
from sifu.unlearning.request import Request
from sifu.unlearning.stored_round import StoredRound, stored_rounds


class History:
    """The past of every seed, readable as far as a method's `keeps` goes. It cannot train: a method asks the server."""

    def __init__(self, lineage: Lineage, keeps: frozenset[Kept], method: str = "this method") -> None:
        self._lineage, self._keeps, self._method = lineage, keeps, method

    # always readable: the server has it anyway

    @property
    def current(self) -> Tensor:
        """The current model, a copy. [S, P]"""
        return self._lineage.current.clone()

    @property
    def end(self) -> Node:
        """The node of the current model."""
        return self._lineage.end

    @property
    def nowhere(self) -> Node:
        """Before everything: what grows from here shares nothing with the past."""
        return self._lineage.nowhere

    @property
    def num_clients(self) -> int:
        """Clients of the training."""
        return self._lineage.num_clients

    @property
    def rounds(self) -> list[Tensor]:
        """How many rounds each branch took; 0 is the training. [S] each"""
        return [segment.rounds.clone() for segment in self._lineage.segments]

    @property
    def length(self) -> Tensor:
        """How many rounds led to the current model, on all branches together. [S]"""
        return sum((kept.clamp(min=0) for kept in self._lineage.kept), torch.zeros_like(self._lineage.kept[0]))

    @property
    def left_shares(self) -> list[Tensor]:
        """For each earlier request the share of the examples that left with it. [S] float64 each"""
        return self._lineage.left_shares

    @property
    def available(self) -> list[Tensor]:
        """Who could take part in each branch; 0 is the training. [S, C] bool each"""
        return [segment.available.clone() for segment in self._lineage.segments]

    def share_of(self, clients: Tensor) -> Tensor:
        """The share of the examples that `clients` [S, C] hold before this request. [S] float64"""
        return self._lineage.share_of(clients, self._lineage.segments[-1].available)

    def stretches(self) -> list[Stretches]:
        """For each seed the rounds of its lineage, by how many clients could be sampled: what an accountant reads."""
        return stretches_of(self._lineage.segments, self._lineage.kept)

    def early(self, rounds: int) -> Node:
        """The training after its first `rounds` rounds, or as many of them as the lineage still has."""
        return self._lineage.early(rounds)

    def last_at_most(self, values: Psi, limit: Tensor | float) -> Node:
        """The last node of the lineage with a value of at most `limit` (equation 13)."""
        return self._lineage.last_at_most(values, limit)

    def value_at(self, values: Psi, node: Node) -> Tensor:
        """The value at a node; 0 before everything. [S]"""
        return self._lineage.value_at(values, node)

    # readable where it is declared

    @property
    def start(self) -> Tensor:
        """theta_0^0, the initial model, a copy. [S, P]"""
        self._read(Kept.START)
        return self._lineage.start.clone()

    def at(self, node: Node) -> Tensor:
        """The model of a node. [S, P]"""
        self._read(Kept.MODELS)
        return self._lineage.at(node.round, node.branch)

    def checkpoint(self, node: Node) -> Tensor:
        """The model of a node, also of one that an earlier request dropped from a branch of the lineage. [S, P]"""
        self._read(Kept.MODELS)
        return self._lineage.at(node.round, node.branch, dropped=True)

    def released_cut(self, clients: Tensor, rules: Rules, factor: float, limit: float) -> ReleasedCut:
        """Where the SIFU paper's code goes back to for the clients `clients` [S, C]; limit = Psi*, factor = B^K."""
        self._read(*kept_for(rules))
        return self._lineage.released_cut(clients, rules, factor, limit)

    def sensitivity(self, clients: Tensor, rules: Rules, factor: float) -> Psi:
        """Psi(n, W) at every node, for the clients W = `clients` [S, C]; factor = B^K (equation 11)."""
        self._read(*kept_for(rules))
        return self._lineage.sensitivity(clients, rules, factor)

    def visits(self, clients: Tensor) -> Psi:
        """How often any of `clients` [S, C] took part before each node."""
        self._read(Kept.COHORTS)
        return self._lineage.visits(clients)

    def retained(self, every: int) -> Iterator[PastRound]:
        """Every `every`-th round of the lineage from the first on, branch after branch."""
        self._read(Kept.NORMS, Kept.COHORTS)
        return self._lineage.retained(every)

    def first_round(self, remain: Tensor) -> Tensor:
        """The mean of the models that the clients `remain` [S, C] sent in the first round. [S, P]"""
        self._read(Kept.FIRST_ROUND, Kept.START)
        return self._lineage.first_round(remain).clone()

    def accumulated(self, remain: Tensor, every: int) -> Tensor:
        """theta_0^0 plus the mean updates of `remain` [S, C] in one round in `every` of each branch. [S, P]"""
        self._read(Kept.UPDATES, Kept.COHORTS, Kept.START)
        return self._lineage.accumulated(remain, every).clone()

    def last_round(self, remain: Tensor) -> Tensor:
        """The mean of the models that the clients `remain` [S, C] sent in the training's last round. [S, P]"""
        self._read(Kept.UPDATES, Kept.COHORTS, Kept.START)
        return self._lineage.last_round(remain).clone()

    def contributions(self, request: Request) -> Iterator[Contribution]:
        """What the clients to forget contributed to each round of the lineage, branch after branch."""
        self._read(Kept.UPDATES, Kept.COHORTS)
        return contributions(self._lineage, request)

    def stored(self, remain: Tensor) -> Iterator[StoredRound]:
        """Each round of the lineage: the model that it began with, and the update of each of `remain` [S, C] in it."""
        self._read(Kept.UPDATES, Kept.COHORTS, Kept.START)
        return stored_rounds(self._lineage, remain)

    def last_contribution(self, request: Request) -> Contribution:
        """What they contributed to the last round that any of them took part in."""
        self._read(Kept.LAST_UPDATES)
        return last_contribution(self._lineage, request)

    def last_updates(self, request: Request) -> Tensor:
        """The mean of the updates that the clients to forget sent last, each in its own last round. [S, P]"""
        self._read(Kept.LAST_UPDATES)
        return last_updates(self._lineage, request)

    def _read(self, *wanted: Kept) -> None:
        for kept in wanted:
            if kept not in self._keeps:
                raise MethodError(
                    f"{self._method} reads {kept.value} without declaring it: add Kept.{kept.name} to its `keeps`"
                )
