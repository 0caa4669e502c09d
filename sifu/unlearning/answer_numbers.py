"""The numbers of an answer, next to its cost: what the server stored, where it went back to, what it promises."""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.config.scenario import Scenario
from sifu.federation.segment import count_work
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Footprint, Method
from sifu.unlearning.sequence import Answer


def answer_numbers(
    answer: Answer, method: Method, trained: Lineage, scenario: Scenario, *, counted: bool = True
) -> dict[str, Tensor]:
    """Columns of the table `cells` by name; `trained` is the lineage before the first request. [S] each

    `counted`: also what the certificate is worth, for which the past is replayed.
    """
    node = answer.unlearned.node
    stored = method.server_floats(_footprint(trained, scenario, answer.spares))
    spares = torch.full_like(node.round, answer.spares)
    paid = {"server_floats": stored, "spares": spares, "spare_steps": spare_steps(answer, trained)}
    places = paid | {"cut_round": node.round, "branch": node.branch}
    certificate = certificate_numbers(answer) if counted else promise_numbers(answer)
    return {"counted_rounds": answer.counted_rounds} | places | certificate


def promise_numbers(answer: Answer) -> dict[str, Tensor]:
    """What is promised, as in the table `cells`; nothing where nothing is. [S] each"""
    promise = answer.unlearned.promise
    if promise is None:
        return {}
    sigma = promise.sigma.double()
    columns = {
        "sigma": sigma,
        "psi": promise.psi,
        "psi_star": promise.psi_star,
        "claimed_epsilon": torch.full_like(sigma, promise.epsilon),
        "claimed_delta": torch.full_like(sigma, promise.delta),
        "covers": answer.request.size if promise.covers is None else promise.covers,
        "covers_everyone": torch.full(sigma.shape, promise.everyone),
        "group": answer.num_forgotten,
    }
    return {name: values for name, values in columns.items() if values is not None}


def certificate_numbers(answer: Answer) -> dict[str, Tensor]:
    """What is promised and, where it can be counted, what holds, as in the table `cells`. [S] each"""
    worth = answer.worth
    if worth is None:
        return promise_numbers(answer)
    columns = {
        "strict_psi": worth.psi,
        "single_psi": worth.single_psi,
        "everyone_psi": worth.everyone_psi,
        "empty_psi": worth.empty_psi,
        "alpha": worth.alpha,
        "actual_epsilon": worth.actual[0],
        "actual_delta": worth.actual[1],
    }
    if worth.spent is not None:
        columns |= {"spent_epsilon": worth.spent.epsilon, "group_epsilon": worth.spent.group_epsilon}
    return promise_numbers(answer) | {name: values for name, values in columns.items() if values is not None}


def spare_steps(answer: Answer, trained: Lineage) -> Tensor:
    """Client steps of spare clients in the training, which the first request's row shows. [S]"""
    segment, steps = trained.segments[0], answer.scenario.federation.local_steps
    if answer.request.number > 1:
        return torch.zeros_like(segment.rounds)
    return count_work(segment, steps, answer.spares).client_steps - count_work(segment, steps).client_steps


def _footprint(trained: Lineage, scenario: Scenario, spares: int) -> Footprint:
    segment = trained.segments[0]
    return Footprint(
        scenario.partition.num_clients,
        segment.start.shape[1],
        scenario.federation.clients_per_round,
        segment.rounds,
        segment.trace.layer_norm.shape[3],
        spares,
    )
