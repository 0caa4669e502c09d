"""Sequential unlearning: requests one after another, each answered by the method from the lineage so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.certificate.noise import actual_guarantee
from sifu.certificate.rules import PRESETS, round_factor
from sifu.engine import Progress
from sifu.history import Work, count_work
from sifu.keys import Keys
from sifu.lineage import History
from sifu.methods.method import Claim, Method, Unlearned
from sifu.requests import Request
from sifu.scenario import Scenario
from sifu.server import Server
from sifu.stop import Stop

StopRule = Callable[[Request], Stop]


class Spent(NamedTuple):
    """What an accountant says of all private rounds, at the claimed delta."""

    epsilon: Tensor  # [S] for one client
    group: Tensor  # [S] how many have left so far
    group_epsilon: Tensor  # [S] for all of them together


@dataclass(frozen=True)
class Answer:
    """A method's answer to one request, with what it cost and what its certificate is worth."""

    request: Request
    unlearned: Unlearned
    work: Work
    actual: tuple[Tensor, Tensor] | None = None  # (epsilon, delta) strictly counted; None: nothing is promised
    strict_psi: Tensor | None = None  # [S] strict sensitivity of the model that was perturbed
    spent: Spent | None = None  # where rounds were private: what they spend together


def answer_requests(
    method: Method,
    history: History,
    leavers: list[Tensor],
    scenario: Scenario,
    stop_rule: StopRule,
    keys: Keys,
    progress: Progress | None = None,
) -> list[Answer]:
    """The answers to all requests; the method is shown one at a time, and of the past only what it declares to keep."""
    answers = []
    available = history.segments[0].available
    for number, forget in enumerate(leavers, start=1):
        request = Request.of(number, forget, available)
        server = Server(history.engine, request, stop_rule(request), scenario, progress)
        shown = history.shown_to(method.keeps)
        unlearned = method.unlearn(shown, request, server, keys.fold("request", number))
        work = server.spent + count_work(unlearned.segment, scenario.federation.local_steps)
        answers.append(_answer(history, request, unlearned, work, scenario))
        history, available = history.grow(unlearned.node, unlearned.segment), request.remain
    return answers


def _answer(history: History, request: Request, unlearned: Unlearned, work: Work, scenario: Scenario) -> Answer:
    claim = unlearned.claim
    if claim is None:
        return Answer(request, unlearned, work)
    if claim.noise == "rounds":
        return _private_answer(history, request, unlearned, work, claim)
    node = unlearned.node
    if claim.noise == "end":
        history = history.grow(node, unlearned.segment)
        node = history.end
    factor = round_factor(scenario.certificate, scenario.federation)
    psi = history.value_at(history.sensitivity(request.forget, PRESETS["strict"], factor), node)
    return Answer(request, unlearned, work, actual_guarantee(claim.epsilon, claim.delta, psi, claim.sigma), psi)


def _private_answer(history: History, request: Request, unlearned: Unlearned, work: Work, claim: Claim) -> Answer:
    """Noise in every round: no assumption on the loss is needed, and an accountant can say what is spent."""
    from sifu.certificate.accountant import spent_epsilon
    from sifu.certificate.private import noise_ratio, stretches_of

    ratio = noise_ratio(history, request.forget)
    actual = actual_guarantee(claim.epsilon, claim.delta, ratio, torch.ones_like(ratio))
    federation, past = history.engine.federation, stretches_of(history)
    group = (history.whole[0].available & ~request.remain).sum(1)  # [S]
    one = [spent_epsilon(federation, stretches, claim.delta) for stretches in past]
    pairs = zip(past, group.tolist(), strict=True)
    together = [spent_epsilon(federation, stretches, claim.delta, size) for stretches, size in pairs]
    return Answer(
        request, unlearned, work, actual, spent=Spent(ratio.new_tensor(one), group, ratio.new_tensor(together))
    )


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
