"""The grid without the forgotten clients: their nodes are not listed, and nothing is sent to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from logging import WARNING
from typing import Any

from flwr.app import Message
from flwr.serverapp import Grid
from flwr.supercore import log

from sifu.errors import SifuError
from sifu.flower.history import History
from sifu.flower.identity import Identity, ask

_TRIES = 3  # a node that is busy may fail to answer


class RemainingGrid(Grid):
    """A view of `grid` with the nodes of remaining clients alone. New nodes are asked who they are."""

    def __init__(self, grid: Grid, history: History, timeout: float, at_once: int, needed: int) -> None:
        """`timeout`: seconds to answer; `at_once`: nodes asked together; `needed`: clients that training waits for."""
        self._grid, self._history, self._timeout = grid, history, timeout
        self._at_once, self._needed = at_once, needed
        self._failed: Counter[int] = Counter()  # how often a node could not say who it is

    def clients(self) -> dict[str, int]:
        """The node of every remaining client that is connected."""
        nodes = list(self._grid.get_node_ids())
        new = [node for node in nodes if node not in self._history.clients and self._failed[node] < _TRIES]
        for first in range(0, len(new), self._at_once):  # on a small machine each answer takes its turn
            self._ask(new[first : first + self._at_once])
        found = self._by_client(nodes)
        self._refuse_silence(len(found), sum(self._failed[node] >= _TRIES for node in nodes))
        return found

    def client_of(self, node: int) -> str | None:
        """The client behind a node; None if it is forgotten or unknown."""
        client = self._history.clients.get(node)
        return None if client is None or client in self._history.forgotten else client

    def _ask(self, nodes: list[int]) -> None:
        answers = ask(self._grid, nodes, self._timeout)
        self._failed.update(node for node, identity in answers.items() if identity is None)
        for node, identity in answers.items():
            if identity is not None:
                self._join(node, identity)

    def _refuse_silence(self, found: int, silent: int) -> None:
        """Refuse to wait for nodes that are there and do not say who they are; others may still connect."""
        if silent and not self._history.clients:
            raise SifuError(
                "no node says who it is: add `sifu.flower.identify(app, ...)` to the ClientApp (docs/flower.md)"
            )
        if found < self._needed <= found + silent:
            raise SifuError(
                f"{found} nodes say who they are, {silent} do not, and {self._needed} clients are needed: "
                "see `identity_timeout` and `identity_at_once` in docs/flower.md"
            )

    def _join(self, node: int, identity: Identity) -> None:
        if identity.client in self._history.forgotten:
            log(WARNING, "client %s was forgotten: node %s gets no message any more", identity.client, node)
        self._history.join(node, identity.client, identity.examples)

    def _by_client(self, nodes: list[int]) -> dict[str, int]:
        found: dict[str, int] = {}
        for node in nodes:
            client = self.client_of(node)
            if client is not None and client in found:
                log(
                    WARNING,
                    "nodes %s and %s both say they are client %s: the first one counts",
                    found[client],
                    node,
                    client,
                )
            elif client is not None:
                found[client] = node
        return found

    # the interface of a grid

    def get_node_ids(self) -> Iterable[int]:
        return list(self.clients().values())

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        return self._grid.push_messages(self._allowed(messages))

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return self.from_remaining(self._grid.pull_messages(message_ids))

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        allowed = self._allowed(messages)
        return self.from_remaining(self._grid.send_and_receive(allowed, timeout=timeout)) if allowed else []

    def _allowed(self, messages: Iterable[Message]) -> list[Message]:
        return [message for message in messages if self.client_of(message.metadata.dst_node_id) is not None]

    def from_remaining(self, replies: Iterable[Message]) -> list[Message]:
        """Replies, but for those of forgotten clients, which may come late."""
        return [reply for reply in replies if self.client_of(reply.metadata.src_node_id) is not None]

    def set_run(self, run: Any) -> None:
        self._grid.set_run(run)

    @property
    def run(self) -> Any:
        return self._grid.run

    def create_message(self, *arguments: Any, **options: Any) -> Message:
        return self._grid.create_message(*arguments, **options)
