"""DP-FedAvg (McMahan et al. 2018): trained so that no client matters much. A request is answered by going on."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from sifu.config.federation import Privacy
from sifu.config.fields import above, at_least, from_to, one_of, setting
from sifu.unlearning.method import Assumptions, CertifiedMethod, Promise, Unlearned

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.config.scenario import Scenario
    from sifu.unlearning.method_types import History, Keys, Request, Server


class DpFedAvg(CertifiedMethod):
    """Every update shortened to C, noise in every round, in training and in recovery.

    `published` is the SIFU paper's row, which only its code describes: fixed cohorts, delta = 1 / M, and in every round
    noise for the whole (epsilon, delta) with a sensitivity of 2 C / M though m are averaged. `accounted` samples
    by Poisson and has noise that pays for `rounds` rounds together; when they are spent, nothing is trained any more.
    `rounds`, T, is fixed before the training, as the noise depends on it: if T is too small, the training ends before
    its target; if it is too large, there is too much noise (it grows about as the root of T). So T is searched together
    with C on seeds that are not reported; the largest T leaves the training more rounds than one without noise takes.
    """

    name = "dp_fedavg"
    specified_from = "the SIFU paper and its code; accounted by dp-accounting"
    assumptions = Assumptions(fedavg=False, convex=True, non_convex=True, reference="McMahan et al., ICLR 2018")

    mode: str = setting(
        "noise as the SIFU paper's code sets it, or so that the promise holds",
        one_of(("published", "accounted")),
        default="published",
    )
    clip: float = setting("updates longer than this are shortened to it (C)", above(0), default=0.5)
    rounds: int = setting("accounted: rounds that the noise pays for, training and recovery", at_least(2), default=1000)
    training_share: float = setting("accounted: share of them that training may take", from_to(0.01, 1), default=0.5)
    request_share: float = setting(
        "accounted: share of the rounds left that a request may take", from_to(0.01, 1), default=0.5
    )

    def training(self, scenario: Scenario) -> Scenario:
        """The scenario with shortened, blurred updates."""
        from sifu.certificate.accountant import multiplier_for
        from sifu.certificate.gaussian import largest_ratio

        certificate, federation = self.certificate, scenario.federation
        clients, expected = scenario.partition.num_clients, federation.clients_per_round
        if self.mode == "published":
            ratio = largest_ratio(certificate.epsilon, 1 / clients, "classical")
            privacy = Privacy(update_clip=self.clip, noise=2 * self.clip / clients / ratio)
            return replace(scenario, federation=replace(federation, privacy=privacy))
        multiplier = multiplier_for(certificate.epsilon, certificate.delta, clients, expected, self.rounds)
        privacy = Privacy(update_clip=self.clip, noise=multiplier * self.clip / expected)
        most = max(1, min(scenario.stop.max_rounds, int(self.rounds * self.training_share)))
        stop = replace(scenario.stop, max_rounds=most, min_rounds=min(scenario.stop.min_rounds, most))
        return replace(scenario, stop=stop, federation=replace(federation, sampling="poisson", privacy=privacy))

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        privacy = server.scenario.federation.privacy
        assert privacy is not None
        left = self._rounds_left(history, request, server) if self.mode == "accounted" else None
        segment = server.recover(history.current, keys, at_most=left)
        one = request.size.new_ones(request.size.shape)  # [S] a promise to each client alone
        promise = Promise(
            self.certificate.epsilon,
            1 / history.num_clients if self.mode == "published" else self.certificate.delta,
            sigma=one.double() * privacy.noise,
            covers=one,
            noise="rounds",
        )
        return Unlearned(segment, history.end, promise)

    def _rounds_left(self, history: History, request: Request, server: Server) -> Tensor:
        """How many rounds of recovery are paid for and not kept for later requests. [S]"""
        from sifu.certificate.accountant import rounds_left

        certificate, federation = self.certificate, server.scenario.federation
        remain = request.remain.sum(1)
        left = [
            rounds_left(federation, past, clients, certificate.epsilon, certificate.delta, self.rounds)
            for past, clients in zip(history.stretches(), remain.tolist(), strict=True)
        ]
        return remain.new_tensor([math.ceil(self.request_share * rounds) for rounds in left])
