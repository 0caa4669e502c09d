"""What `unlearn` gave back, checked: whatever is wrong is one sentence that names the method."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sifu.errors import MethodError
from sifu.federation.segment import Segment
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, Promise, Unlearned
from sifu.unlearning.node import Node
from sifu.unlearning.server import Server

_EXPECTED = "return what server.recover gives (a Segment), or Unlearned(segment, node)"


def checked_answer(method: Method, returned: Any, lineage: Lineage, server: Server) -> Unlearned:
    """The answer as an `Unlearned`; a bare segment was trained on from the current model."""
    if isinstance(returned, Segment):
        returned = Unlearned(returned, lineage.end)
    problem = _problem(returned, lineage, server)
    if problem:
        raise MethodError(f"method {method.name}: {problem}")
    answer: Unlearned = returned
    return answer


def _problem(returned: Any, lineage: Lineage, server: Server) -> str:
    """What is wrong with an answer; empty: nothing."""
    if not isinstance(returned, Unlearned):
        return f"`unlearn` gave back {_words(returned)}: {_EXPECTED}"
    parts = [("segment", returned.segment, Segment), ("node", returned.node, Node)]
    if returned.promise is not None:
        parts.append(("promise", returned.promise, Promise))
    for name, part, expected in parts:
        if not isinstance(part, expected):
            return f"the {name} that `unlearn` gave back is {_words(part)}: {_EXPECTED}"
    for name, value, shape in _shapes(returned, lineage.segments[0].start):
        if not isinstance(value, Tensor) or value.shape != shape:
            found = list(value.shape) if isinstance(value, Tensor) else type(value).__name__
            return f"{name} of what `unlearn` gave back is {found}, not {list(shape)}"
    if not server.has_trained(returned.segment):
        return "the segment that `unlearn` gave back was not trained by this server, or was changed since"
    if returned.initial is not None and not server.has_drawn(returned.initial):
        return "the initial model that `unlearn` gave back was not drawn by `server.new_start`, or was changed since"
    return _node_problem(returned.node, lineage) or _optimiser_problem(returned, lineage)


def _optimiser_problem(answer: Unlearned, lineage: Lineage) -> str:
    """What a certificate is worth is counted from rounds of the federation's own SGD, or from none of the past."""
    others = any(segment.optimiser is not None for segment in (*lineage.segments, answer.segment))
    if answer.promise is None or not others or bool((answer.node.branch < 0).all()):
        return ""
    return (
        "a promise about past rounds needs the federation's SGD: recover without `optimiser`, or from history.nowhere"
    )


def _words(value: Any) -> str:
    """A value by its class; of a tensor also the shape."""
    if value is None:
        return "None"
    return type(value).__name__ + (f" of shape {list(value.shape)}" if isinstance(value, Tensor) else "")


def _shapes(answer: Unlearned, start: Tensor) -> list[tuple[str, Any, Any]]:
    """Each part of an answer: its name, the part, and the shape that it must have."""
    models, seeds = start.shape, start.shape[:1]
    parts: list[tuple[str, Any, Any]] = [
        ("segment.final", answer.segment.final, models),
        ("node.branch", answer.node.branch, seeds),
        ("node.round", answer.node.round, seeds),
    ]
    given = {"published": answer.published, "initial": answer.initial}
    parts += [(name, value, models) for name, value in given.items() if value is not None]
    if answer.promise is not None:
        parts.append(("promise.sigma", answer.promise.sigma, seeds))
        if answer.promise.blurred is not None:
            parts.append(("promise.blurred", answer.promise.blurred, models))
        optional = {name: getattr(answer.promise, name) for name in ("psi", "psi_star", "covers")}
        parts += [(f"promise.{name}", value, seeds) for name, value in optional.items() if value is not None]
    return parts


def _node_problem(node: Node, lineage: Lineage) -> str:
    """A node must be part of the lineage, or before everything (branch -1)."""
    if node.branch.dtype != torch.int64 or node.round.dtype != torch.int64:
        return "the node that `unlearn` gave back must hold whole numbers (int64)"
    exists = node.branch == -1
    for branch, stored in enumerate(lineage.stored):
        exists |= (node.branch == branch) & (node.round >= 0) & (node.round <= stored)
    if bool(exists.all()):
        return ""
    return (
        f"the node that `unlearn` gave back (branch {node.branch.tolist()}, round {node.round.tolist()}) does not exist"
    )
