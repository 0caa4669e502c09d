"""Train on with the remaining clients: no guarantee (paper, appendix A)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.unlearning.method import Assumptions, Method

if TYPE_CHECKING:
    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server


class FineTuning(Method):
    """Train on from the current model."""

    name = "fine_tuning"
    specified_from = "the SIFU paper"
    assumptions = Assumptions(reference="paper, section 2.1")

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        return server.recover(history.current, keys)
