"""Do nothing: the row that bounds every other from one side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.unlearning.method import Assumptions, Method

if TYPE_CHECKING:
    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server


class Original(Method):
    """Keep the model as it is."""

    name = "original"
    specified_from = "ours"
    assumptions = Assumptions(reference="no unlearning at all")

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        return server.hold(history.current, keys)
