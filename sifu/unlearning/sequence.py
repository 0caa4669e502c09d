"""Sequential unlearning: requests one after another, each answered by the method from the lineage so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

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
from sifu.unlearning.worth import Worth, worth_of

StopRule = Callable[[Request], Stop]


@dataclass(frozen=True)
class Answer:
    """A method's answer to one request, with its cost. What its certificate is worth is counted when it is asked."""

    request: Request
    unlearned: Unlearned
    work: Work
    num_forgotten: Tensor  # [S] how many clients were forgotten so far
    before: Lineage = field(repr=False)  # what the request met
    scenario: Scenario = field(repr=False)
    own_count: Tensor | None = None  # [S] rounds as the method's own code counts them; the cost is `work`
    spares: int = 0  # clients a round that were trained for the method and not averaged

    @property
    def counted_rounds(self) -> Tensor:
        """Rounds as the method's own code counts them; those of the cost where it has no count of its own. [S]"""
        return self.work.rounds if self.own_count is None else self.own_count

    @cached_property
    def worth(self) -> Worth | None:
        """What the certificate is worth; None where nothing is promised. The past is replayed for it."""
        return worth_of(self.before, self.request, self.unlearned, self.scenario)


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
    spares = scenario.federation.spare_seats if method.refills else 0
    server = Server(
        lineage.engine,
        request,
        _paying(rule, request, scenario, spares),
        scenario,
        progress,
        runner,
        method=name,
        shape=shape,
        forgotten_data=method.assumptions.forgotten_data,
        server_data=method.assumptions.server_data,
        spares=spares,
        oracle=method.oracle,
    )
    history = History(lineage, method.keeps, name)
    returned = method.unlearn(history, request.copy(), server, keys.fold("request", number))
    target = rule.target if rule.must_reach else None
    unlearned = _judged(checked_answer(method, returned, lineage, server), lineage, request, target)
    forgotten = (lineage.segments[0].available & ~request.remain).sum(1)
    answer = Answer(request, unlearned, server.spent, forgotten, lineage, scenario, server.counted_rounds, spares)
    return answer, lineage.grow(unlearned.node, unlearned.segment)


def _paying(rule: Stop, request: Request, scenario: Scenario, spares: int) -> Stop:
    """The stop rule where `spares` clients more are trained in each round, as far as there are."""
    remain = request.remain.sum(1)  # [S]
    waiting = (remain - scenario.federation.clients_per_round).clamp(min=0, max=spares)
    return rule.with_spares(waiting * scenario.federation.local_steps)


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


def target_rule(scenario: Scenario) -> StopRule:
    """Every request is recovered from until the scenario's target accuracy."""
    return lambda request: Stop.at_target(scenario.stop, len(request.remain))


def budget_rule(scenario: Scenario, share: float, client_steps: Tensor) -> StopRule:
    """Every request gets a share of the `client_steps` [S] that the scenario's training took."""
    target = scenario.stop if scenario.stop.budget_ends == "target" else None

    def rule(request: Request) -> Stop:
        cohort = request.remain.sum(1).clamp(max=scenario.federation.clients_per_round)
        budget = torch.floor(client_steps * share + 1e-9).long()
        return Stop.at_budget(budget, cohort * scenario.federation.local_steps, target)

    return rule
