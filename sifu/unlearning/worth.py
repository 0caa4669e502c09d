"""What a certificate is worth: the (epsilon, delta) that hold against the run that is made without the clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.certificate.noise import actual_guarantee
from sifu.certificate.rules import PRESETS, round_factor
from sifu.config.scenario import Scenario
from sifu.unlearning.counterfactual import truth_at, without
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Promise, Unlearned
from sifu.unlearning.request import Request
from sifu.unlearning.shards_without import distance_without, is_whole
from sifu.unlearning.training_without import run_without


class Spent(NamedTuple):
    """What an accountant says of all private rounds, at the promised delta."""

    epsilon: Tensor  # [S] for one client
    group_epsilon: Tensor  # [S] for all clients forgotten so far, together


@dataclass(frozen=True)
class Worth:
    """What holds of a promise. [S] float64 each"""

    actual: tuple[Tensor, Tensor]  # epsilon at the claimed delta and delta at the claimed epsilon, of the request's set
    psi: Tensor  # sensitivity of the model that noise was added to, to all clients of the request together
    single_psi: Tensor  # the same to the worst of them alone
    everyone_psi: Tensor  # the same to all clients forgotten so far together
    alpha: Tensor | None = None  # measured distance; None where every round adds noise
    empty_psi: Tensor | None = None  # Psi of the request's set if forgotten clients' seats stayed empty
    spent: Spent | None = None  # where rounds were private: what they spend together


def worth_of(lineage: Lineage, request: Request, unlearned: Unlearned, scenario: Scenario) -> Worth | None:
    """What the promise of an answer is worth, given the lineage before it.

    None where nothing is promised, and where a promise is exact of a model that no rounds of the past lead to, unless
    it is put together from shards.
    """
    promise = unlearned.promise
    if promise is None:
        return None
    if promise.blurred is not None and promise.corrected:
        return _of_corrected(lineage, request, unlearned, promise.blurred, scenario)
    if promise.blurred is not None:
        if promise.epsilon:
            return _of_solved(lineage, request, promise, promise.blurred)
        sharded = lineage.engine.federation.num_models > 1 and is_whole(lineage)
        return _of_shards(lineage, request, promise, promise.blurred) if sharded else None
    if promise.noise == "rounds":
        return _of_private_rounds(lineage, request, promise)
    node = unlearned.node
    factor = round_factor(scenario.certificate, scenario.federation)
    if promise.noise == "end":  # the noise is on the last model of the new branch
        lineage = lineage.grow(node, unlearned.segment)
        node, factor = lineage.end, factor if promise.round_factor is None else promise.round_factor
    truth = truth_at(lineage, node, request.forget, factor)
    empty = lineage.value_at(lineage.sensitivity(request.forget, PRESETS["empty_seats"], factor), node)
    actual = actual_guarantee(promise.epsilon, promise.delta, truth.psi, promise.sigma)
    return Worth(actual, *truth, empty)


def _of_corrected(
    lineage: Lineage, request: Request, unlearned: Unlearned, corrected: Tensor, scenario: Scenario
) -> Worth:
    """Noise on the model of a node that was moved on purpose [S, P], for all who were forgotten so far.

    In the run without them nobody asks for that, so that nothing is moved: the way from the node's model to the moved
    one is added to what Psi says of the former, and the distance is measured from the latter.
    """
    node, promise = unlearned.node, unlearned.promise
    assert promise is not None
    everyone = lineage.segments[0].available & ~request.remain
    truth = truth_at(lineage, node, everyone, round_factor(scenario.certificate, scenario.federation))
    retrained = without(lineage.cut(node), everyone)
    moved, alpha = (
        (corrected.cpu() - model.cpu()).double().norm(dim=1).nan_to_num(nan=torch.inf)
        for model in (lineage.at(node.round, node.branch), retrained)
    )
    psi = truth.psi + moved
    actual = actual_guarantee(promise.epsilon, promise.delta, psi, promise.sigma)
    return Worth(actual, psi, truth.single_psi + moved, psi, alpha)


def _of_solved(lineage: Lineage, request: Request, promise: Promise, solved: Tensor) -> Worth:
    """Noise on a model that was solved for [S, P], not trained: its distance from the one that retraining ends with, in
    as many rounds as the training took, without all who were forgotten so far. The bound is the method's own.
    """
    training = lineage.segments[0]
    retrained = run_without(lineage.engine, training, training.available & ~request.remain)
    alpha = (solved.cpu() - retrained.final.cpu()).double().norm(dim=1)
    bound = alpha if promise.psi is None else promise.psi
    actual = actual_guarantee(promise.epsilon, promise.delta, bound.maximum(alpha), promise.sigma)
    return Worth(actual, bound, bound, bound, alpha)


def _of_shards(lineage: Lineage, request: Request, promise: Promise, start: Tensor) -> Worth:
    """An exact promise on the models of shards that recovery starts from [S, k P]: nothing of the clients is in them.

    That is measured, for the request's clients and for all forgotten so far; a distance refutes the promise.
    """
    everyone = lineage.segments[0].available & ~request.remain
    alpha, of_everyone = (distance_without(lineage, start, clients) for clients in (request.forget, everyone))
    nothing = torch.zeros_like(alpha)
    actual = actual_guarantee(promise.epsilon, promise.delta, alpha, promise.sigma)
    return Worth(actual, alpha, alpha, of_everyone, alpha, nothing)


def _of_private_rounds(lineage: Lineage, request: Request, promise: Promise) -> Worth:
    """Noise in every round: no assumption on the loss is needed, and an accountant can say what is spent."""
    from sifu.certificate.accountant import spent_epsilon
    from sifu.certificate.private_rounds import noise_ratio, stretches_of
    from sifu.certificate.refilled import single_sets

    federation, trained = lineage.engine.federation, lineage.segments[0].available
    everyone = trained & ~request.remain
    sets = [request.forget, everyone, *single_sets(request.forget)]
    ratios = torch.stack([noise_ratio(lineage.segments, lineage.kept, federation, clients) for clients in sets])
    actual = actual_guarantee(promise.epsilon, promise.delta, ratios[0], torch.ones_like(ratios[0]))
    past = stretches_of(lineage.segments, lineage.kept)
    single = [spent_epsilon(federation, stretches, promise.delta) for stretches in past]
    groups = zip(past, everyone.sum(1).tolist(), strict=True)
    together = [spent_epsilon(federation, stretches, promise.delta, size) for stretches, size in groups]
    spent = Spent(ratios.new_tensor(single), ratios.new_tensor(together))
    psi = ratios * promise.sigma.double()
    return Worth(actual, psi[0], psi[2:].amax(0), psi[1], spent=spent)
