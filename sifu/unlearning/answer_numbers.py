"""The numbers of an answer, next to its cost: what the server stored, where it went back to, what it promises."""

from __future__ import annotations

import torch
from torch import Tensor

from sifu.config.scenario import Scenario
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Footprint, Method
from sifu.unlearning.sequence import Answer


def answer_numbers(answer: Answer, method: Method, trained: Lineage, scenario: Scenario) -> dict[str, Tensor]:
    """Columns of the table `cells` by name; `trained` is the lineage before the first request. [S] each"""
    node = answer.unlearned.node
    stored = method.server_floats(_footprint(trained, scenario))
    places = {"server_floats": stored, "cut_round": node.round, "branch": node.branch}
    return {"counted_rounds": answer.counted_rounds} | places | certificate_numbers(answer)


def certificate_numbers(answer: Answer) -> dict[str, Tensor]:
    """What is promised and what holds, as in the table `cells`; nothing where nothing is promised. [S] each"""
    promise, request = answer.unlearned.promise, answer.request
    if promise is None or answer.actual is None:
        return {}
    sigma = promise.sigma.double()
    columns = {
        "sigma": sigma,
        "psi": promise.psi,
        "psi_star": promise.psi_star,
        "strict_psi": answer.strict_psi,
        "claimed_epsilon": torch.full_like(sigma, promise.epsilon),
        "claimed_delta": torch.full_like(sigma, promise.delta),
        "actual_epsilon": answer.actual[0],
        "actual_delta": answer.actual[1],
        "covers": request.size if promise.covers is None else promise.covers,
        "group": answer.num_forgotten,
    }
    if answer.spent is not None:
        columns |= {"spent_epsilon": answer.spent.epsilon, "group_epsilon": answer.spent.group_epsilon}
    return {name: values for name, values in columns.items() if values is not None}


def _footprint(trained: Lineage, scenario: Scenario) -> Footprint:
    segment = trained.segments[0]
    return Footprint(
        scenario.partition.num_clients,
        segment.start.shape[1],
        scenario.federation.clients_per_round,
        segment.rounds,
        segment.trace.layer_norm.shape[3],
    )
