"""Sequential unlearning: requests one after another, each answered by the method from the lineage so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.certificate.noise import actual_guarantee
from sifu.certificate.rules import PRESETS, round_factor
from sifu.config.scenario import Scenario
from sifu.core.keys import Keys
from sifu.core.types import Status
from sifu.federation.evaluation import share
from sifu.federation.packing import Runner
from sifu.federation.segment import Work
from sifu.federation.stop import Stop
from sifu.federation.training import Progress
from sifu.unlearning.answer_check import checked_answer
from sifu.unlearning.history import History
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, Unlearned
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server

StopRule = Callable[[Request], Stop]


class Spent(NamedTuple):
    """What an accountant says of all private rounds, at the promised delta."""

    epsilon: Tensor  # [S] for one client
    group_epsilon: Tensor  # [S] for all clients forgotten so far, together


@dataclass(frozen=True)
class Answer:
    """A method's answer to one request, with its cost and what its certificate is worth."""

    request: Request
    unlearned: Unlearned
    work: Work
    num_forgotten: Tensor  # [S] how many clients were forgotten so far
    actual: tuple[Tensor, Tensor] | None = None  # (epsilon, delta) strictly counted; None: nothing is promised
    strict_psi: Tensor | None = None  # [S] strict sensitivity of the model that was perturbed
    spent: Spent | None = None  # where rounds were private: what they spend together
    own_count: Tensor | None = None  # [S] rounds as the method's own code counts them; the cost is `work`

    @property
    def counted_rounds(self) -> Tensor:
        """Rounds as the method's own code counts them; those of the cost where it has no count of its own. [S]"""
        return self.work.rounds if self.own_count is None else self.own_count


def answer_requests(
    method: Method,
    lineage: Lineage,
    forget: list[Tensor],
    scenario: Scenario,
    stop_rule: StopRule,
    keys: Keys,
    progress: Progress | None = None,
    runner: Runner | None = None,
) -> list[Answer]:
    """The answers to all requests, `forget` [S, C] each. The method sees one request at a time, and of the past only
    what it declares to keep.

    `runner` trains instead of the lineage's engine: see sifu/federation/packing.py.
    """
    answers = []
    for clients in forget:
        answer, lineage = answer_request(method, lineage, clients, scenario, stop_rule, keys, progress, runner)
        answers.append(answer)
    return answers


def answer_request(
    method: Method,
    lineage: Lineage,
    forget: Tensor,
    scenario: Scenario,
    stop_rule: StopRule,
    keys: Keys,
    progress: Progress | None = None,
    runner: Runner | None = None,
) -> tuple[Answer, Lineage]:
    """The answer to the next request, `forget` [S, C], and the lineage that the request after it starts from."""
    number = len(lineage.segments)  # the training is one segment, each request adds one
    request = Request.of(number, forget, lineage.segments[-1].available)
    name, shape = f"method {method.name}", lineage.segments[0].start.shape
    rule = stop_rule(request)
    needs = method.assumptions.forgotten_data
    server = Server(
        lineage.engine, request, rule, scenario, progress, runner, method=name, shape=shape, forgotten_data=needs
    )
    history = History(lineage, method.keeps, name)
    returned = method.unlearn(history, request.copy(), server, keys.fold("request", number))
    unlearned = _judged(checked_answer(method, returned, lineage, server), lineage, request, rule.target)
    answer = _answer(lineage, request, unlearned, server.spent, scenario)
    answer = replace(answer, own_count=server.counted_rounds)
    return answer, lineage.grow(unlearned.node, unlearned.segment)


def _judged(unlearned: Unlearned, lineage: Lineage, request: Request, target: float | None) -> Unlearned:
    """Whether the target was met is asked of the model that is given out, not of a secret one."""
    published = unlearned.published
    if published is None or target is None:
        return unlearned
    engine = lineage.engine
    correct = engine.evaluator.correct(published, torch.arange(len(published), device=published.device)).cpu()
    accuracy = share(correct, engine.clients.size.cpu(), request.remain)
    met = zip(unlearned.segment.status, (accuracy >= target).tolist(), strict=True)
    status = tuple(Status.NOT_REACHED if one == Status.DONE and not enough else one for one, enough in met)
    return replace(unlearned, segment=replace(unlearned.segment, status=status))


def _answer(lineage: Lineage, request: Request, unlearned: Unlearned, work: Work, scenario: Scenario) -> Answer:
    """The answer with what its certificate is worth, counted strictly."""
    promise, num_forgotten = unlearned.promise, (lineage.segments[0].available & ~request.remain).sum(1)
    if promise is None:
        return Answer(request, unlearned, work, num_forgotten)
    if promise.noise == "rounds":
        return _private_answer(lineage, request, unlearned, work, num_forgotten)
    node = unlearned.node
    factor = round_factor(scenario.certificate, scenario.federation)
    if promise.noise == "end":  # the noise is on the last model of the new branch
        lineage = lineage.grow(node, unlearned.segment)
        node, factor = lineage.end, factor if promise.round_factor is None else promise.round_factor
    psi = lineage.value_at(lineage.sensitivity(request.forget, PRESETS["strict"], factor), node)
    actual = actual_guarantee(promise.epsilon, promise.delta, psi, promise.sigma)
    return Answer(request, unlearned, work, num_forgotten, actual, psi)


def _private_answer(
    lineage: Lineage, request: Request, unlearned: Unlearned, work: Work, num_forgotten: Tensor
) -> Answer:
    """Noise in every round: no assumption on the loss is needed, and an accountant can say what is spent."""
    from sifu.certificate.accountant import spent_epsilon
    from sifu.certificate.private_rounds import noise_ratio, stretches_of

    promise, federation = unlearned.promise, lineage.engine.federation
    assert promise is not None
    ratio = noise_ratio(lineage.segments, lineage.kept, federation, request.forget)
    actual = actual_guarantee(promise.epsilon, promise.delta, ratio, torch.ones_like(ratio))
    past = stretches_of(lineage.segments, lineage.kept)
    single = [spent_epsilon(federation, stretches, promise.delta) for stretches in past]
    groups = zip(past, num_forgotten.tolist(), strict=True)
    together = [spent_epsilon(federation, stretches, promise.delta, size) for stretches, size in groups]
    spent = Spent(ratio.new_tensor(single), ratio.new_tensor(together))
    return Answer(request, unlearned, work, num_forgotten, actual, spent=spent)


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
