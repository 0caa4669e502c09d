"""Go back to before any of the clients to forget first took part: exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Method, Unlearned, exact_promise

if TYPE_CHECKING:
    from sifu.unlearning.method_types import History, Keys, Request, Server


class ExactRollback(Method):
    """Restart from the last model that none of the clients to forget has touched.

    Where they never took part nothing is undone, but recovery still takes the scenario's minimum of rounds.
    """

    name = "exact_rollback"
    specified_from = "code of Plato, 60d6779"
    exact = True
    assumptions = Assumptions(
        convex=True,
        non_convex=True,
        stores="who took part when, and a model for each first time",
        reference="checkpoints, as in Plato",
    )
    keeps = frozenset({Kept.MODELS, Kept.COHORTS})

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        node = history.last_at_most(history.visits(request.forget), 0.0)
        return Unlearned(server.recover(history.at(node), keys), node, exact_promise(request))
