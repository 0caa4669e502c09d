"""A grid in memory: nodes are ClientApps that are called at once. Flower's own loop runs over it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

SERVER = 1


@dataclass
class MemoryGrid(Grid):
    """`nodes`: the config of every connected node by its id; all run the same `app`."""

    app: ClientApp
    nodes: dict[int, dict[str, Any]]
    sent: list[tuple[int, str]] = field(default_factory=list)  # (node, kind) of every message
    lost: Callable[[int, str], bool] = lambda node, kind: False  # whether a node fails to answer
    silent: dict[int, str] = field(default_factory=dict)  # nodes that never answer, and what comes instead
    ttl: list[tuple[str, float]] = field(default_factory=list)  # (kind, seconds that it is held) of every message
    at_once: list[int] = field(default_factory=list)  # messages of each call
    late: list[Message] = field(default_factory=list)  # replies that come with the next ones

    def get_node_ids(self) -> Iterable[int]:
        return list(self.nodes)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        replies, self.late = list(self.late), []
        asked = list(messages)
        self.at_once.append(len(asked))
        for message in asked:
            message.metadata.__dict__["_message_id"] = uuid.uuid4().hex  # as Flower's grids do when they send
            answer = self._answer(message)
            if self.silent.get(message.metadata.dst_node_id) != "nothing":
                replies.append(answer)
        return replies[::-1]  # in no order that a strategy may rely on

    def _answer(self, message: Message) -> Message:
        node, kind = message.metadata.dst_node_id, message.metadata.message_type
        self.sent.append((node, kind))
        self.ttl.append((kind, message.metadata.ttl))
        if node in self.silent:
            reply = Message(Error(code=0, reason=self.silent[node]), reply_to=message)
            reply.metadata.__dict__["_src_node_id"] = SERVER  # the SuperLink's own errors say so
            return reply
        if self.lost(node, kind):
            return Message(Error(code=0, reason="the node is gone"), reply_to=message)
        config = self.nodes[node]
        context = Context(run_id=1, node_id=node, node_config=config, state=RecordDict(), run_config={})
        try:
            return self.app(message, context)
        except ValueError as error:  # as Flower's runtime tells the server
            return Message(Error(code=0, reason=str(error)), reply_to=message)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        raise NotImplementedError

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        raise NotImplementedError

    def set_run(self, run: Any) -> None: ...

    @property
    def run(self) -> Any:
        return None

    def create_message(self, *arguments: Any, **options: Any) -> Message:
        raise NotImplementedError


def be_server() -> None:
    """Flower's messages say which task they come from."""
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, SERVER, 1
