"""Who is behind a node: stable ids that clients say, as Flower's node ids change with every connection.

Client side: `identify(app, lambda context: ("hospital-7", 1200))` answers the question. It is asked of every new node
before any other message, and holds no model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from logging import WARNING
from typing import TYPE_CHECKING, Any, NamedTuple

from flwr.app import ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.supercore import log

if TYPE_CHECKING:  # a client needs nothing of a server
    from flwr.serverapp import Grid

ACTION = "sifu_identity"
_LONGEST = 200  # characters of an id


class Identity(NamedTuple):
    """What a client says of itself."""

    client: str
    examples: float


def identify(app: ClientApp, of: Callable[[Context], tuple[str, int]]) -> None:
    """Let the clients of `app` say who they are: `of` returns a stable id and the number of training examples."""

    @app.query(ACTION)
    def answer(message: Message, context: Context) -> Message:
        client, examples = of(context)
        records: dict[str, Any] = {"identity": ConfigRecord({"client-id": str(client)})}
        records["size"] = MetricRecord({"num-examples": examples})
        return Message(RecordDict(records), reply_to=message)


def ask(grid: Grid, nodes: Iterable[int], timeout: float) -> dict[int, Identity | None]:
    """What each of `nodes` says; None where it cannot say it, or not within `timeout` seconds."""
    kind = f"query.{ACTION}"
    options: dict[str, Any] = {"message_type": kind, "ttl": timeout}  # nobody waits for a later answer
    questions = [Message(content=RecordDict(), dst_node_id=node, **options) for node in nodes]
    if not questions:
        return {}
    replies = list(grid.send_and_receive(questions, timeout=timeout))  # gives every question its id
    # errors of the SuperLink itself do not come from the node that was asked
    by_question = {reply.metadata.reply_to_message_id: reply for reply in replies}
    asked = {question.metadata.dst_node_id: question.metadata.message_id for question in questions}
    return {node: _identity(node, by_question.get(number)) for node, number in asked.items()}


def _identity(node: int, reply: Message | None) -> Identity | None:
    if reply is None:
        log(WARNING, "node %s did not say in time who it is", node)
        return None
    if reply.has_error():
        log(WARNING, "node %s did not say who it is and takes no part: %s", node, reply.error.reason)
        return None
    try:
        said: Any = reply.content
        client, examples = said["identity"]["client-id"], float(said["size"]["num-examples"])
    except (KeyError, TypeError, ValueError):
        client, examples = None, 0.0
    if not isinstance(client, str) or not 0 < len(client) <= _LONGEST or not 0 < examples < 1e15:
        log(WARNING, "node %s did not say who it is and takes no part: see `sifu.flower.identify`", node)
        return None
    return Identity(client, examples)
