"""Sequential unlearning: requests one after another, each answered by the method from the lineage so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.certificate.convex import constants_of
from sifu.certificate.noise import actual_guarantee
from sifu.certificate.rules import PRESETS, round_factor
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.core.types import Status
from sifu.federation.evaluation import share
from sifu.federation.packing import Runner
from sifu.federation.segment import Work, count_work
from sifu.federation.stop import Stop
from sifu.federation.training import Progress
from sifu.unlearning.history import History
from sifu.unlearning.method import Method, Unlearned
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server

StopRule = Callable[[Request], Stop]


class Spent(NamedTuple):
    """What an accountant says of all private rounds, at the claimed delta."""

    epsilon: Tensor  # [S] for one client
    group_epsilon: Tensor  # [S] for all who have left so far together


@dataclass(frozen=True)
class Answer:
    """A method's answer to one request, with what it cost and what its certificate is worth."""

    request: Request
    unlearned: Unlearned
    work: Work
    left: Tensor  # [S] how many clients have left so far
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
    runner: Runner | None = None,
) -> list[Answer]:
    """The answers to all requests; the method is shown one at a time, and of the past only what it declares to keep.

    `runner` trains instead of the history's engine: see sifu/federation/packing.py.
    """
    answers = []
    available = history.segments[0].available
    for number, forget in enumerate(leavers, start=1):
        request = Request.of(number, forget, available)
        server = Server(history.engine, request, stop_rule(request), scenario, progress, runner)
        shown = history.shown_to(method.keeps)
        unlearned = _checked(method.unlearn(shown, request, server, keys.fold("request", number)), server)
        work = server.spent + count_work(unlearned.segment, scenario.federation.local_steps)
        answers.append(_answer(history, request, unlearned, work, scenario))
        history, available = history.grow(unlearned.node, unlearned.segment), request.remain
    return answers


def _checked(unlearned: Unlearned, server: Server) -> Unlearned:
    """Whether the target was met is asked of the model that is given out, not of a secret one."""
    published, target = unlearned.published, server.stop.target
    if published is None or target is None:
        return unlearned
    engine, remain = server.engine, server.request.remain
    correct = engine.evaluator.correct(published, torch.arange(len(published), device=published.device)).cpu()
    accuracy = share(correct, engine.clients.size.cpu(), remain)
    met = zip(unlearned.segment.status, (accuracy >= target).tolist(), strict=True)
    status = tuple(Status.NOT_REACHED if one == Status.DONE and not enough else one for one, enough in met)
    return replace(unlearned, segment=replace(unlearned.segment, status=status))


def _answer(history: History, request: Request, unlearned: Unlearned, work: Work, scenario: Scenario) -> Answer:
    claim, left = unlearned.claim, (history.whole[0].available & ~request.remain).sum(1)
    if claim is None:
        return Answer(request, unlearned, work, left)
    if claim.noise == "rounds":
        return _private_answer(history, request, unlearned, work, left)
    node = unlearned.node
    if claim.noise == "end":
        history = history.grow(node, unlearned.segment)
        node = history.end
    factor = round_factor(scenario.certificate, scenario.federation)
    if claim.noise == "end":  # contraction is what such a claim is about: the sharpest constant that is known
        factor = constants_of(scenario).step
    psi = history.value_at(history.sensitivity(request.forget, PRESETS["strict"], factor), node)
    return Answer(request, unlearned, work, left, actual_guarantee(claim.epsilon, claim.delta, psi, claim.sigma), psi)


def _private_answer(history: History, request: Request, unlearned: Unlearned, work: Work, left: Tensor) -> Answer:
    """Noise in every round: no assumption on the loss is needed, and an accountant can say what is spent."""
    from sifu.certificate.accountant import spent_epsilon
    from sifu.certificate.private_rounds import noise_ratio, stretches_of

    claim = unlearned.claim
    assert claim is not None
    ratio = noise_ratio(history.whole, history.kept, history.engine.federation, request.forget)
    actual = actual_guarantee(claim.epsilon, claim.delta, ratio, torch.ones_like(ratio))
    federation, past = history.engine.federation, stretches_of(history.whole, history.kept)
    one = [spent_epsilon(federation, stretches, claim.delta) for stretches in past]
    groups = zip(past, left.tolist(), strict=True)
    together = [spent_epsilon(federation, stretches, claim.delta, size) for stretches, size in groups]
    spent = Spent(ratio.new_tensor(one), ratio.new_tensor(together))
    return Answer(request, unlearned, work, left, actual, spent=spent)


def target_rule(scenario: Scenario) -> StopRule:
    """Every request is recovered from until the scenario's target accuracy."""
    return lambda request: Stop.at_target(scenario.stop, len(request.remain))


def budget_rule(scenario: Scenario, share: float, client_steps: Tensor) -> StopRule:
    """Every request gets a share of the `client_steps` [S] that the scenario's training took."""

    def rule(request: Request) -> Stop:
        cohort = request.remain.sum(1).clamp(max=scenario.federation.clients_per_round)
        budget = torch.floor(client_steps * share + 1e-9).long()
        return Stop.at_budget(budget, cohort * scenario.federation.local_steps)

    return rule
