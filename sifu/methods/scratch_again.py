"""Scratch a second time, with other draws: how far two perfect answers are apart. No gap below that means anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.config.fields import one_of, setting
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Method, Unlearned, exact_promise

if TYPE_CHECKING:
    from sifu.unlearning.method_types import History, Keys, Request, Server


class ScratchAgain(Method):
    """Retrain without the forgotten clients, with other cohorts and batches than `scratch` draws."""

    name = "scratch_again"
    specified_from = "ours"
    exact = True
    assumptions = Assumptions(
        convex=True, non_convex=True, stores="the initial model", reference="a control: the floor of every gap"
    )

    start: str = setting(
        "the training's own initial model, or a new one from the same distribution",
        one_of(("same", "new")),
        default="same",
    )

    @property
    def keeps(self) -> frozenset[Kept]:
        return frozenset({Kept.START} if self.start == "same" else set())

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        keys = keys.fold("again")  # no draw is one of scratch's
        initial = server.new_start(keys) if self.start == "new" else None
        segment = server.recover(history.start if initial is None else initial, keys)
        return Unlearned(segment, history.nowhere, exact_promise(request), initial=initial)
