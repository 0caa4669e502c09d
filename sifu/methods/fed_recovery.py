"""FedRecovery (Zhang et al. 2023): take back a weighted mean of what the clients to forget added to each round."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sifu.certificate.rules import rules_of
from sifu.config.fields import at_least, one_of, setting
from sifu.errors import ConfigError
from sifu.unlearning.kept import Kept, kept_for
from sifu.unlearning.method import Assumptions, CertifiedMethod, Unlearned

if TYPE_CHECKING:
    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server


class FedRecovery(CertifiedMethod):
    """theta' = theta^N - c + N(0, sigma^2) with c = sum_n p_n delta_n, then FedAvg of those that remain.

    delta_n is the mean update of round n less the mean of its remaining clients: what the clients to forget added.
    p_n = ||U_n||^2 / sum_j ||U_j||^2 with U_n the mean update of all. As the p_n add up to 1, c is never longer than
    the longest delta_n: it cannot undo N rounds. For a request of one client running sums, one a client, would do
    instead of the updates: what it is said to store is an upper limit. After a restatement of the paper's algorithm 2.

    The marks are of the paper's theorem, whose noise follows from an a-priori bound on the distance to retraining.
    `noise: hidden` has a measured one in its place, Psi(N) + ||c||, and promises as Last does. Only the triangle is
    proved, so that it needs more noise than Last, though theta' should be closer. In a run without the clients nothing
    is taken back: every count of Psi has ||c|| on top of it, and alpha is measured from theta' (`Promise.corrected`).

    Sequential: rounds of recovery count as rounds; clients of earlier requests are left out of both means. That c knew
    of clients that leave later, which no Psi counts; so with `hidden` every request goes back to the training's
    theta^N, corrects it for all who left so far, and promises to all of them (by the preset: each alone, or together).
    """

    name = "fed_recovery"
    specified_from = "second-hand: Algorithm 2 as a report restates it; p_n unchecked"
    assumptions = Assumptions(
        convex=True, non_convex=True, stores="every client's updates", reference="Zhang et al., TIFS 2023"
    )

    sigma: float = setting("`given`: standard deviation of the noise on each weight", at_least(0), default=0.0)
    noise: str = setting("of `sigma`, or as much as hides Psi(N)", one_of(("given", "hidden")), default="given")

    def refuse(self) -> None:
        if self.sigma and self.on_the_past:
            raise ConfigError("sigma", self.sigma, "0 with `noise: hidden`, which follows from Psi(N)")

    @property
    def on_the_past(self) -> bool:
        return self.noise == "hidden"

    @property
    def keeps(self) -> frozenset[Kept]:
        more = {Kept.MODELS} | kept_for(rules_of(self.certificate)) if self.on_the_past else set()
        return frozenset({Kept.UPDATES, Kept.COHORTS} | more)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned | Segment:
        from sifu.certificate.noise import add_noise
        from sifu.unlearning.contribution import mean_residual

        if self.on_the_past:
            return self._hidden(history, request, server, keys)
        model = history.current
        start = model - mean_residual(model, history.contributions(request)).to(model.dtype)
        return server.recover(add_noise(start, self.sigma, keys) if self.sigma else start, keys)

    def _hidden(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        from itertools import islice

        from sifu.certificate.noise import add_noise, needed_sigma
        from sifu.unlearning.contribution import mean_residual

        rules, everyone = rules_of(self.certificate), replace(request, forget=history.available[0] & ~request.remain)
        trained = int(history.rounds[0].max())
        node = history.early(trained)
        model = history.at(node)
        taken = mean_residual(model, islice(history.contributions(everyone), trained))  # of the training alone
        start = model - taken.to(model.dtype)
        psi = history.sensitivity(everyone.forget, rules, server.round_factor(self.certificate))
        distance = history.value_at(psi, node) + taken.norm(dim=1).cpu()  # [S]
        sigma = needed_sigma(self.certificate, history.num_clients, distance)
        promise = self.promise(history, everyone, sigma, distance, distance)
        promise = replace(promise, everyone=rules.sets != "max", blurred=start.cpu(), corrected=True)
        return Unlearned(server.recover(add_noise(start, sigma, keys), keys), node, promise)
