"""Requests in the log: which one is open, and what was done about it so far."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sifu.config.certificate import Certificate
from sifu.config.fields import to_plain
from sifu.errors import SifuError, did_you_mean
from sifu.flower.answer import Issued
from sifu.flower.chain import Chain
from sifu.flower.history import History, Node
from sifu.flower.sampling import number_order


@dataclass(frozen=True)
class OpenRequest:
    """A request that is not answered yet."""

    number: int
    clients: tuple[str, ...]


def open_request(log: Chain) -> OpenRequest | None:
    """The request that is not answered yet, if there is one."""
    asked, answered = list(log.of_kind("request")), sum(1 for _ in log.of_kind("answer"))
    if len(asked) == answered:
        return None
    return OpenRequest(asked[-1]["request"], tuple(asked[-1]["clients"]))


def named(clients: Sequence[object] | str) -> tuple[str, ...]:
    """The ids of a request, in order."""
    ids = [clients] if isinstance(clients, str) else [str(client) for client in clients]
    if len(set(ids)) != len(ids):
        raise SifuError(f"a request names a client twice: {', '.join(sorted(ids))}")
    if not ids:
        raise SifuError("a request is empty: name at least one client")
    return tuple(sorted(ids, key=number_order))


def refuse_request(clients: Collection[str], history: History, needed: int) -> None:
    """Refuse clients that are unknown or forgotten, and a request that leaves fewer than `needed` clients."""
    if not history.branches:
        raise SifuError("nothing was trained in this store: there is nothing to forget")
    for client in clients:
        if client in history.forgotten:
            raise SifuError(f"client {client} was forgotten by an earlier request")
        if client not in history.sizes:
            raise SifuError(
                f"client {client} is unknown{did_you_mean(client, history.remaining)}; no node has said that it is it"
            )
    rest = len(history.remaining) - len(clients)
    if rest < max(1, needed):
        raise SifuError(
            f"the request leaves {rest} clients, and {max(1, needed)} are needed: see min_train_nodes and "
            "min_available_nodes of the inner strategy"
        )


def note_request(log: Chain, history: History, clients: Sequence[str], certificate: Certificate) -> OpenRequest:
    """Write a request down, before anything is done about it."""
    number = sum(1 for _ in log.of_kind("request")) + 1
    log.append(
        "request",
        request=number,
        clients=list(clients),
        certificate=to_plain(certificate),
        history=history.chain.head,
        time=_now(),
    )
    return OpenRequest(number, tuple(clients))


def note_roll_back(log: Chain, request: OpenRequest, cut: Node, certificate: Issued, start: str) -> str:
    """Write down where a request goes back to; the digest of that line."""
    fields: dict[str, Any] = {"request": request.number, "cut": list(cut), "certificate": certificate.plain()}
    return log.append("roll back", **fields, start=start, time=_now()).digest


def note_answer(log: Chain, history: History, request: OpenRequest, rounds: int, model: str) -> str:
    """Write down that a request is answered; the digest of that line."""
    fields: dict[str, Any] = {"request": request.number, "clients": list(request.clients), "rounds": rounds}
    return log.append("answer", **fields, model=model, history=history.chain.head, time=_now()).digest


def roll_back_of(log: Chain, history: History, request: OpenRequest) -> tuple[Node, Issued] | None:
    """Where a request went back to, and its certificate: the line that its branch names. None: it has no branch yet."""
    lines = dict(log.entries)
    named = [lines[branch.log] for branch in history.branches if branch.log in lines]
    found = [body for body in named if body["request"] == request.number]
    if not found:
        return None
    branch, number = found[-1]["cut"]
    return (branch, number), Issued.of(found[-1]["certificate"])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
