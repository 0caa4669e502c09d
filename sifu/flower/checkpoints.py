"""Which models are worth keeping: for each client the last one that its certificate allows to go back to.

That is at most one a client, the same one for all clients that may go back to the same round; next to them only the
initial and the current model.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from sifu.certificate.rules import Rules
from sifu.flower.history import History, Node


@dataclass
class Checkpoints:
    """The last usable node of each client, brought up to date round by round."""

    history: History
    rules: Rules
    factor: float  # B^K
    longest: float  # the longest update that a client can send
    limit: float  # Psi*
    psi: dict[str, float] = field(default_factory=dict)  # of each client alone, at the current node
    last: dict[str, Node] = field(default_factory=dict)  # the last node with Psi <= Psi*

    def start_again(self, stored: Collection[str]) -> None:
        """Count from the beginning of the lineage: after a request, or when a store is opened."""
        self.psi, self.last = {}, {}
        for branch, rounds in self.history.path():
            for number in range(rounds + 1):
                if number:
                    self._step((branch, number - 1))
                self._note((branch, number))
        for client, node in self.last.items():
            if self.history.digest(node) not in stored:  # with B < 1 Psi may come down again, where nothing was kept
                psi = self.history.psi({client}, self.rules, self.factor, self.longest)
                self.last[client] = self.usable(psi, stored)

    def after_round(self) -> None:
        """Count the last round."""
        branch, number = self.history.end
        self._step((branch, number - 1))
        self._note((branch, number))

    def wanted(self) -> set[str]:
        """Digests of the models to keep."""
        nodes = {*self.last.values(), (0, 0), self.history.end}
        return {self.history.digest(node) for node in nodes}

    def usable(self, psi: dict[Node, float], stored: Collection[str]) -> Node:
        """The last node that is stored and has a sensitivity of at most Psi*; the initial model has none."""
        fits = [node for node, value in psi.items() if value <= self.limit and self.history.digest(node) in stored]
        return fits[-1]

    def _step(self, node: Node) -> None:
        """Psi of every client after the round that follows a node."""
        for client in self.history.remaining:
            value = self.psi.get(client, 0.0)
            settings = (self.rules, self.factor, self.longest)
            self.psi[client] = self.history.next_psi(value, node, {client}, *settings)

    def _note(self, node: Node) -> None:
        for client in self.history.remaining:
            if self.psi.get(client, 0.0) <= self.limit:
                self.last[client] = node
