"""The history of a federation: rounds, branches, clients; Psi of any of them; and which models are worth keeping.

As in sifu/unlearning/lineage.py, a request goes back to a node, drops what came after it, and grows a new branch. A
node is (branch, round): (0, 0) is the initial model. All of it is read from, and written to, the lines of one file.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from sifu.certificate.rules import Rules
from sifu.flower.chain import Chain
from sifu.flower.past_round import PastRound
from sifu.flower.sensitivity import contracts, increment

Node = tuple[int, int]


@dataclass
class Branch:
    """The training (0), or the rounds after a request."""

    parent: Node | None  # the node that it grew from
    forgotten: frozenset[str]  # all clients forgotten before it
    start: str  # digest of its first model
    log: str = ""  # digest of the log's line on its roll-back; the training has none
    rounds: list[PastRound] = field(default_factory=list)

    def digest(self, number: int) -> str:
        """The digest of the model after `number` rounds."""
        return self.rounds[number - 1].model if number else self.start


class History:
    """What happened, in memory; every change is first a line of the file."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.branches: list[Branch] = []
        self.sizes: dict[str, float] = {}  # examples of every client that ever joined, in that order
        self._joined: dict[str, int] = {}  # the place of each client in that order
        self.clients: dict[int, str] = {}  # the id of each node, as far as it was asked
        for entry in chain.entries:
            self._add(entry.body)

    # what was written

    @property
    def end(self) -> Node:
        """The node of the current model."""
        return len(self.branches) - 1, len(self.branches[-1].rounds)

    @property
    def forgotten(self) -> frozenset[str]:
        """All clients forgotten so far."""
        return self.branches[-1].forgotten if self.branches else frozenset()

    @property
    def remaining(self) -> set[str]:
        """All clients that joined and were not forgotten."""
        return set(self.sizes) - self.forgotten

    def path(self, node: Node | None = None) -> list[tuple[int, int]]:
        """The branches that lead to a node (the current one if none is given), each with the rounds taken of it."""
        parts: list[tuple[int, int]] = []
        at: Node | None = self.end if node is None else node
        while at is not None:
            parts.append(at)
            at = self.branches[at[0]].parent
        return parts[::-1]

    def depth(self, node: Node | None = None) -> int:
        """How many rounds lead to a node."""
        return sum(rounds for _, rounds in self.path(node))

    def nodes(self, node: Node | None = None) -> list[Node]:
        """Every node on the way to `node`, the first one first."""
        return [(branch, number) for branch, rounds in self.path(node) for number in range(rounds + 1)]

    def digest(self, node: Node) -> str:
        """The digest of the model of a node."""
        return self.branches[node[0]].digest(node[1])

    # sensitivity

    def psi(self, clients: Collection[str], rules: Rules, factor: float, longest: float) -> dict[Node, float]:
        """Psi of `clients` at every node of the lineage; factor = B^K. Of the worst alone where the rules say `max`."""
        if rules.sets == "max":
            single = [self._psi({client}, rules, factor, longest) for client in clients]
            return {node: max(psi[node] for psi in single) for node in self.nodes()}
        return self._psi(set(clients), rules, factor, longest)

    def _psi(self, clients: set[str], rules: Rules, factor: float, longest: float) -> dict[Node, float]:
        """Psi(n + 1) = B^K Psi(n) + Delta(n), on and on from branch to branch."""
        value, values = 0.0, {}
        for branch, rounds in self.path():
            values[branch, 0] = value
            for number in range(rounds):
                value = self.next_psi(value, (branch, number), clients, rules, factor, longest)
                values[branch, number + 1] = value
        return values

    def next_psi(
        self, value: float, node: Node, clients: Collection[str], rules: Rules, factor: float, longest: float
    ) -> float:
        """Psi after the round that follows a node, from Psi at that node."""
        past = self.branches[node[0]].rounds[node[1]]
        there = self.connected(node, clients)
        by = factor if factor >= 1 or contracts(past, there, rules) else 1.0
        scaled = by * value if value else 0.0  # 0 stays 0, also where the factor is infinite
        return scaled + increment(past, there, rules, longest)

    def connected(self, node: Node, clients: Collection[str]) -> set[str]:
        """Which of `clients` could have taken part in the round that follows a node."""
        branch = self.branches[node[0]]
        past = branch.rounds[node[1]]
        gone = branch.forgotten.union(past.absent)
        return {client for client in clients if self._joined[client] < past.known and client not in gone}

    # what happens now

    def join(self, node: int, client: str, examples: float) -> None:
        """A node has said who it is."""
        self._write("client", node=node, client=client, examples=examples)

    def begin(self, start: str, seed: int) -> None:
        """The training begins with a model."""
        self._write("training", start=start, seed=seed)

    def add_round(self, past: PastRound) -> None:
        """A round is done."""
        self._write("round", **past.plain())

    def grow(self, parent: Node, forgotten: Collection[str], start: str, log: str) -> None:
        """Go back to `parent`, and on without `forgotten`; `log`: the digest of the log's line on the request."""
        self._write("branch", parent=list(parent), forgotten=sorted(forgotten), start=start, log=log)

    def _write(self, kind: str, **fields: Any) -> None:
        self._add(self.chain.append(kind, **fields).body)

    def _add(self, body: dict[str, Any]) -> None:
        kind, fields = body["kind"], {name: value for name, value in body.items() if name != "kind"}
        if kind == "client":
            self.clients[fields["node"]] = fields["client"]
            self.sizes[fields["client"]] = fields["examples"]
            self._joined.setdefault(fields["client"], len(self._joined))
        elif kind == "training":
            self.branches.append(Branch(None, frozenset(), fields["start"]))
        elif kind == "branch":
            forgotten = self.forgotten | set(fields["forgotten"])
            branch, number = fields["parent"]
            self.branches.append(Branch((branch, number), forgotten, fields["start"], fields["log"]))
        elif kind == "round":
            self.branches[-1].rounds.append(PastRound.of(fields))
