"""Sequential unlearning: requests one after another, each answered by the method from the lineage so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sifu.certificate.noise import actual_guarantee
from sifu.certificate.rules import PRESETS, round_factor
from sifu.history import Work, count_work
from sifu.keys import Keys
from sifu.lineage import History
from sifu.methods.method import Method, Unlearned
from sifu.requests import Request
from sifu.scenario import Scenario
from sifu.server import Server
from sifu.stop import Stop

StopRule = Callable[[Request], Stop]


@dataclass(frozen=True)
class Answer:
    """A method's answer to one request, with what it cost and what its certificate is worth."""

    request: Request
    unlearned: Unlearned
    work: Work
    actual: tuple[Tensor, Tensor] | None  # (epsilon, delta) strictly counted; None: nothing is promised
    strict_psi: Tensor | None  # [S] strict sensitivity of the model that was perturbed


def answer_requests(
    method: Method, history: History, leavers: list[Tensor], scenario: Scenario, stop_rule: StopRule, keys: Keys
) -> list[Answer]:
    """The answers to all requests; the method is shown one at a time, and of the past only what it declares to keep."""
    answers = []
    available = history.segments[0].available
    for number, forget in enumerate(leavers, start=1):
        request = Request.of(number, forget, available)
        server = Server(history.engine, request, stop_rule(request), scenario)
        shown = history.shown_to(method.keeps)
        unlearned = method.unlearn(shown, request, server, keys.fold("request", number))
        answers.append(_answer(method, history, request, unlearned, scenario))
        history, available = history.grow(unlearned.node, unlearned.segment), request.remain
    return answers


def _answer(method: Method, history: History, request: Request, unlearned: Unlearned, scenario: Scenario) -> Answer:
    work = count_work(unlearned.segment, scenario.federation.local_steps)
    if unlearned.claim is None:
        return Answer(request, unlearned, work, None, None)
    claim = unlearned.claim
    psi = history.value_at(
        history.sensitivity(request.forget, PRESETS["strict"], round_factor(scenario.certificate, scenario.federation)),
        unlearned.node,
    )
    return Answer(request, unlearned, work, actual_guarantee(claim.epsilon, claim.delta, psi, claim.sigma), psi)


def target_rule(scenario: Scenario) -> StopRule:
    """Every request is recovered from until the scenario's target accuracy."""
    return lambda request: Stop.at_target(scenario.stop, len(request.remain))


def budget_rule(scenario: Scenario, share: float, training: Work) -> StopRule:
    """Every request gets a share of the client steps that the seed's own training took."""

    def rule(request: Request) -> Stop:
        cohort = request.remain.sum(1).clamp(max=scenario.federation.clients_per_round)
        budget = torch.floor(training.client_steps * share + 1e-9).long()
        return Stop.at_budget(budget, cohort * scenario.federation.local_steps)

    return rule
