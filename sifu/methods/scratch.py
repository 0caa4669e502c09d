"""Retrain from the initial model without the forgotten clients: perfect, and the reference of every gap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Method, Unlearned, exact_promise

if TYPE_CHECKING:
    from sifu.unlearning.method_types import History, Keys, Request, Server


class Scratch(Method):
    """Start again from the training's own initial weights."""

    name = "scratch"
    specified_from = "the SIFU paper"
    exact = True
    assumptions = Assumptions(convex=True, non_convex=True, stores="the initial model", reference="paper, section 2.1")
    keeps = frozenset({Kept.START})

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        return Unlearned(server.recover(history.start, keys), history.nowhere, exact_promise(request))
