"""The truth behind a certificate: the lineage that was run, next to the same lineage without some clients.

Without them, every cohort is sampled from the clients that remain, as in a retraining. All other draws are the same,
also those of the noise: a branch begins as far from the node that it grew from as it did in fact. This is right for
methods that add noise which knows nothing of the clients; only these have a certificate of this kind.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.core.types import Status
from sifu.federation.segment import Segment
from sifu.federation.training import Progress
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.node import Node
from sifu.unlearning.training_without import compared_sets, run_without


class Truth(NamedTuple):
    """How far a node is from the run without some clients. [S] float64 each"""

    psi: Tensor  # the bound, of all these clients together
    single_psi: Tensor  # the bound, of the worst of them alone
    everyone_psi: Tensor  # the bound, of all forgotten so far together
    alpha: Tensor  # measured, of all these clients together: no assumption on B


def truth_at(lineage: Lineage, node: Node, clients: Tensor, factor: float, progress: Progress | None = None) -> Truth:
    """The truth of `node`, which the lineage still has, for the `clients` [S, C] of the request; factor = B^K."""
    path = lineage.cut(node)
    everyone = clients | (lineage.segments[0].available & ~lineage.segments[-1].available)
    sets = compared_sets(clients, everyone)
    nodes = path.refilled(sets, factor)  # [S, T + 1, sets] of each branch
    values = torch.stack([path.value_at([part[..., k] for part in nodes], node) for k in range(len(sets))])
    return Truth(values[0], values[2:].amax(0), values[1], measured_at(path, node, clients, progress))


def measured_at(lineage: Lineage, node: Node, clients: Tensor, progress: Progress | None = None) -> Tensor:
    """alpha: the distance of the model of `node` from that of the same lineage without `clients` [S, C]. [S] float64"""
    theta = lineage.at(node.round, node.branch)
    phi = without(lineage.cut(node), clients, progress)
    distance = (theta - phi).double().norm(dim=1).nan_to_num(nan=torch.inf).cpu()  # a run that diverges is far away
    return torch.where(node.branch >= 0, distance, 0.0)


def without(lineage: Lineage, clients: Tensor, progress: Progress | None = None) -> Tensor:
    """The last model of the same lineage if `clients` [S, C] had never been there. [S, P]"""
    device, parent = lineage.start.device, lineage.nowhere
    phi = lineage.start.clone()
    for branch, (segment, kept) in enumerate(zip(lineage.segments, lineage.kept, strict=True)):
        here = kept >= 0  # [S] the seeds whose lineage has this branch
        start = _start(lineage, segment, parent, phi)
        phi = torch.where(here.to(device)[:, None], start, phi)
        again = partial(_rounds, lineage, segment, phi, kept, clients, progress)
        phi = again() if branch else _training(lineage, kept, clients, again)
        parent = parent.moved(branch, kept, here)
    return phi


def _training(lineage: Lineage, kept: Tensor, clients: Tensor, again: Callable[[], Tensor]) -> Tensor:
    """`kept` [S] rounds of the training without `clients` [S, C]: made once, as every stop rule begins with it. [S, P]

    `again` makes it where no other stage has.
    """
    which = ("without", kept.numpy().tobytes(), clients.numpy().tobytes())
    known = lineage.cache.without(clients)
    make = again if known is None else partial(known.model, lineage.engine, kept.clamp(min=0))
    return lineage.cache.total(lineage.segments[0], which, make).clone()


def _start(lineage: Lineage, segment: Segment, parent: Node, phi: Tensor) -> Tensor:
    """What a branch begins with, given the model `phi` [S, P] at the node that it grew from. [S, P]"""
    device = phi.device
    start, grown = segment.start.to(device), (parent.branch >= 0).to(device)[:, None]
    if not bool(grown.any()):
        return start
    theta = lineage.at(parent.round, parent.branch)
    same = (theta == phi).all(1, keepdim=True)  # a sum would round
    return torch.where(grown & ~same, phi + (start - theta), start)


def _rounds(
    lineage: Lineage, segment: Segment, phi: Tensor, kept: Tensor, clients: Tensor, progress: Progress | None
) -> Tensor:
    """`kept` [S] rounds of a segment from `phi` [S, P], without `clients` [S, C]; NaN where that diverges. [S, P]"""
    run = run_without(lineage.engine, segment, clients, progress, start=phi, rounds=kept.clamp(min=0))
    diverged = torch.tensor([status == Status.DIVERGED for status in run.status])
    return run.final.masked_fill(diverged[:, None], torch.nan).to(phi.device)
