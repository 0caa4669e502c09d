"""FATS (Tao et al. 2024): so few draws that most clients were never drawn; else retrain from the first draw on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sifu.config.fields import above, at_least, setting
from sifu.errors import MethodRefused
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Method, Unlearned, exact_promise

if TYPE_CHECKING:
    from sifu.config.scenario import Scenario
    from sifu.unlearning.method_types import History, Keys, Request, Server


class Fats(Method):
    """m = rho M / R clients a round, R rounds fixed in advance; a request goes back to before its clients' first draw.

    rho = m R / M is how often a client is drawn on average, the paper's bound on the total variation between trainings
    with and without it. A client is in no round with probability (1 - m / M)^R: then nothing is done, and the model has
    the same bits. Else all rounds from its first one on are drawn again from the others, so that there are R in all.
    With q = m / M that is R - (1 - q) (1 - (1 - q)^R) / q rounds on average. Exact: while a client is not drawn,
    cohorts have the law of those drawn without it. The paper draws with replacement, here a cohort has each client
    once; the argument holds for both. Of the paper's two levels this is the one of clients. `exact_rollback` is the
    same cut in the scenario's own federation and stop rule.

    Neither m nor R follows the stop rule: the model of R rounds is given out, whatever its accuracy. m is at least 1,
    so that rho is at least R / M. A budget is refused: where it ends the rounds before R, their number shows that the
    client was drawn. Sequential: rounds since earlier requests count among the R, and are cut as well.
    """

    name = "fats"
    specified_from = "authors' code: Happy2Git/FATS_supplement 8b12e6c; rho and R are ours"
    exact = True
    assumptions = Assumptions(
        fedavg=False,
        convex=True,
        non_convex=True,
        stores="who took part when, and a model for each first time",
        reference="Tao et al., VLDB 2024",
    )
    keeps = frozenset({Kept.MODELS, Kept.COHORTS})

    rho: float = setting("how often a client is drawn on average (rho)", above(0), default=0.25)
    rounds: int = setting("rounds of the training (R)", at_least(1), default=100)

    def training(self, scenario: Scenario) -> Scenario:
        """The scenario with so many clients a round, and exactly R rounds."""
        drawn = self.cohort(scenario.partition.num_clients)
        stop = replace(scenario.stop, min_rounds=self.rounds, max_rounds=self.rounds)
        return replace(scenario, stop=stop, federation=replace(scenario.federation, clients_per_round=drawn))

    def cohort(self, clients: int) -> int:
        """m, of so many clients."""
        return min(clients, max(1, round(self.rho * clients / self.rounds)))

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        if server.has_budget:
            raise MethodRefused("its promise is one of R rounds in all, which a budget may not pay for")
        node = history.last_at_most(history.visits(request.forget), 0.0)
        everyone = history.visits(history.available[0])  # one a round
        left = self.rounds - history.value_at(everyone, node).long()  # [S]
        segment = server.recover(history.at(node), keys, at_most=left.clamp(min=0))
        return Unlearned(segment, node, exact_promise(request))
