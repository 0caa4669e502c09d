"""What `unlearn` gave back, checked: a wrong type or shape is one sentence that names the method."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from sifu.errors import MethodError
from sifu.federation.segment import Segment
from sifu.unlearning.lineage import Lineage, Node
from sifu.unlearning.method import Method, Promise, Unlearned


def checked_answer(method: Method, returned: Any, lineage: Lineage) -> Unlearned:
    """The answer as an `Unlearned`; a bare segment was trained on from the current model."""
    if isinstance(returned, Segment):
        returned = Unlearned(returned, lineage.end)
    parts = (returned.segment, returned.node) if isinstance(returned, Unlearned) else (returned, None)
    if not isinstance(parts[0], Segment) or not isinstance(parts[1], Node):
        given = type(returned).__name__ if parts[1] is None else " and ".join(type(part).__name__ for part in parts)
        words = f"`unlearn` gave back {given}: return what server.recover gives, or Unlearned(segment, node)"
        raise MethodError(f"method {method.name}: {words}")
    for name, value, shape in _shapes(returned, lineage.segments[0].start):
        if not isinstance(value, Tensor) or value.shape != shape:
            found = list(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise MethodError(f"method {method.name}: `unlearn` gave back a {name} of {found}, not of {list(shape)}")
    return returned


def _shapes(answer: Unlearned, start: Tensor) -> list[tuple[str, Any, Any]]:
    """Each part of an answer: its name, the part, and the shape that it must have."""
    models, seeds = start.shape, start.shape[:1]
    parts: list[tuple[str, Any, Any]] = [
        ("segment.final", answer.segment.final, models),
        ("segment.rounds", answer.segment.rounds, seeds),
        ("node.branch", answer.node.branch, seeds),
        ("node.round", answer.node.round, seeds),
    ]
    if answer.published is not None:
        parts.append(("published", answer.published, models))
    if answer.promise is not None:
        parts.append(("promise", isinstance(answer.promise, Promise) and answer.promise.sigma, seeds))
        optional = {name: getattr(answer.promise, name, None) for name in ("psi", "psi_star", "covers")}
        parts += [(f"promise.{name}", value, seeds) for name, value in optional.items() if value is not None]
    return parts
