"""What the clients to forget contributed to past rounds: means of updates with them and without them.

A server would have stored the updates; here rounds are trained again. Where a model of the past is kept, the update of
everyone follows from it, and the clients to forget are not trained.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from sifu.certificate.sensitivity import sampled
from sifu.federation.segment import Segment
from sifu.hardware.upload import upload
from sifu.unlearning.asked import places
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.past_round import PastRound, train_again
from sifu.unlearning.request import Request


@dataclass(frozen=True)
class Contribution:
    """A past round of every seed; all zero where a seed's lineage does not have it. Clients of earlier requests are
    left out of both means.
    """

    together: Tensor  # [S, P] the mean update of the clients to forget and the remaining ones
    remaining: Tensor  # [S, P] that of the remaining ones alone
    share: Tensor  # [S] FedAvg's weight of the clients to forget, float64; 0 where none of them took part
    visits: Tensor  # [S] how many of the clients to forget took part
    present: Tensor  # [S] FedAvg's weight of all these in the round as it was, float64; 1: nobody was forgotten before

    @property
    def residual(self) -> Tensor:
        """How much further the round went because of the clients to forget. [S, P]"""
        return (self.together - self.remaining).where(self._any, 0.0)

    @property
    def part(self) -> Tensor:
        """Their part of the mean: the sum of p_u U_u over the clients u to forget. [S, P]"""
        rest = (1 - self.share).to(self.together)[:, None]
        return (self.together - rest * self.remaining).where(self._any, 0.0)

    @property
    def added(self) -> Tensor:
        """The same with p_u as it was in the round, clients of earlier requests included. [S, P]"""
        return self.part * self.present.to(self.together)[:, None]

    @property
    def forgotten(self) -> Tensor:
        """The mean update of the clients to forget. [S, P]"""
        share = self.share.clamp(min=1e-30).to(self.together)[:, None]
        return (self.part / share).where(self._any, 0.0)

    @property
    def _any(self) -> Tensor:
        return (self.share > 0).to(self.together.device)[:, None]


def mean_residual(model: Tensor, rounds: Iterable[Contribution]) -> Tensor:
    """The mean of the residuals, each weighted by the squared length of its round's mean update; zero where nothing
    moved. `model` [S, P] says where and how many they are. [S, P] float64
    """
    taken, total = model.double() * 0, model.double()[:, :1] * 0  # [S, P], [S, 1]
    for past in rounds:
        weight = past.together.double().square().sum(1, keepdim=True)  # [S, 1]
        taken, total = taken + weight * past.residual, total + weight
    return taken / total.clamp(min=1e-300)


def contributions(lineage: Lineage, request: Request) -> Iterator[Contribution]:
    """Every round of the lineage, branch after branch."""
    for branch, (segment, kept) in enumerate(zip(lineage.segments, lineage.kept, strict=True)):
        walk = _everyone if _is_all(segment, kept, request) else _both
        for number, (together, remaining) in enumerate(walk(lineage, branch, request)):
            past = PastRound.of(segment, branch, number, kept)
            happened = upload(past.happened, together.device)[:, None]  # [S, 1]
            visits, shares = past.only(request.forget).visits, _shares(lineage, past.cohort, request)
            yield Contribution(together.where(happened, 0.0), remaining, shares[0], visits, shares[1])


def last_contribution(lineage: Lineage, request: Request) -> Contribution:
    """For each seed the last round of its lineage that any of the clients to forget took part in."""
    nothing = torch.zeros_like(lineage.current)
    nobody = torch.zeros(len(nothing), dtype=torch.int64)
    found = Contribution(nothing, nothing, nobody.double(), nobody, nobody.double())
    for segment, kept in zip(lineage.segments, lineage.kept, strict=True):
        last = _last_visit(segment, kept, request.forget)  # [S]
        if bool((last > 0).any()):
            found = _chosen(last > 0, _at(lineage, segment, last, kept, request), found)
    return found


def last_updates(lineage: Lineage, request: Request) -> Tensor:
    """The mean of the updates that the clients to forget sent last, each in its own last round, by their examples;
    zero for one that never took part. [S, P]
    """
    size = lineage.engine.clients.size.cpu().double()
    total = (size * request.forget).sum(1).clamp(min=1)  # [S]
    mean = torch.zeros_like(lineage.current)
    for client in places(request.forget).T:  # [S] each
        alone = torch.zeros_like(request.forget)
        alone[torch.arange(len(client)), client.clamp(min=0)] = client >= 0
        weight = (size * alone).sum(1) / total
        mean = mean + _last_update(lineage, alone) * weight.to(mean)[:, None]
    return mean


def _last_update(lineage: Lineage, alone: Tensor) -> Tensor:
    """What one client of each seed, `alone` [S, C], sent in the last round that it took part in. [S, P]"""
    found = torch.zeros_like(lineage.current)
    for segment, kept in zip(lineage.segments, lineage.kept, strict=True):
        last = _last_visit(segment, kept, alone)  # [S]
        if bool((last > 0).any()):
            weights = lineage.engine.replay(segment, (last - 1).clamp(min=0))
            sent = train_again(lineage.engine, weights, PastRound.last(segment, last).only(alone))
            found = torch.where((last > 0).to(found.device)[:, None], sent.local[:, 0] - weights, found)
    return found


def _last_visit(segment: Segment, kept: Tensor, clients: Tensor) -> Tensor:
    """The last of the `kept` [S] rounds, from 1, that any of `clients` [S, C] took part in; 0: none. [S]"""
    number = torch.arange(1, segment.trace.cohort.shape[1] + 1)
    took_part = sampled(clients, segment.trace.cohort).any(2) & (number <= kept[:, None])  # [S, T]
    return _latest(took_part, number)


def _latest(took_part: Tensor, number: Tensor) -> Tensor:
    """The largest of `number` [T] where `took_part` [S, T]; 0: nowhere. [S]"""
    rounds = torch.where(took_part, number, 0)
    return rounds.amax(1) if rounds.shape[1] else rounds.sum(1)


def _at(lineage: Lineage, segment: Segment, last: Tensor, kept: Tensor, request: Request) -> Contribution:
    """The contribution to round `last` [S] (from 1) of a segment; 0: to none."""
    engine, past = lineage.engine, PastRound.last(segment, last)
    weights = engine.replay(segment, (last - 1).clamp(min=0))

    def mean_update(clients: Tensor) -> Tensor:
        chosen = past.only(clients)
        local = train_again(engine, weights, chosen).local
        return engine.weighted_mean(weights, local, upload(chosen.cohort, weights.device)) - weights

    if _is_all(segment, kept, request):
        together = engine.replay(segment, last) - weights
    else:
        together = mean_update(request.remain | request.forget)
    visits, shares = past.only(request.forget).visits, _shares(lineage, past.cohort, request)
    return Contribution(together, mean_update(request.remain), shares[0], visits, shares[1])


def _chosen(which: Tensor, one: Contribution, other: Contribution) -> Contribution:
    """`one` for the seeds `which` [S], `other` for the rest."""
    at = which.to(one.together.device)[:, None]
    return Contribution(
        one.together.where(at, other.together),
        one.remaining.where(at, other.remaining),
        one.share.where(which, other.share),
        one.visits.where(which, other.visits),
        one.present.where(which, other.present),
    )


def _is_all(segment: Segment, kept: Tensor, request: Request) -> bool:
    """Whether nobody but the clients of this request and the remaining ones took part in a segment."""
    return bool((segment.available == (request.remain | request.forget))[kept > 0].all())


Means = Iterator[tuple[Tensor, Tensor]]  # of a round: the mean update of all, and of the remaining clients. [S, P]


def _everyone(lineage: Lineage, branch: int, request: Request) -> Means:
    """The rounds of a branch in which nobody else took part: the mean of all is the difference of two models."""
    last = None
    for _, weights, remaining in lineage.updates(branch, request.remain):
        if last is not None:
            yield weights - last[0], last[1]
        last = weights, remaining
    if last is not None:
        yield _end(lineage, branch) - last[0], last[1]


def _both(lineage: Lineage, branch: int, request: Request) -> Means:
    """The rounds of a branch in which clients of earlier requests took part, too."""
    all_of_them, alone = (
        lineage.updates(branch, clients) for clients in (request.remain | request.forget, request.remain)
    )
    for (_, _, together), (_, _, remaining) in zip(all_of_them, alone, strict=True):
        yield together, remaining


def _end(lineage: Lineage, branch: int) -> Tensor:
    """The last model of a branch that the lineage has. [S, P]"""
    segment, kept = lineage.segments[branch], lineage.kept[branch]
    if bool((kept == segment.rounds)[kept > 0].all()):
        return segment.final.to(lineage.start.device)
    return lineage.engine.replay(segment, kept.clamp(min=0))


def _shares(lineage: Lineage, cohort: Tensor, request: Request) -> tuple[Tensor, Tensor]:
    """The weight of the clients to forget among them and the remaining ones of a cohort [S, m], and the weight of all
    of these in the cohort. [S] float64 each
    """
    size = lineage.engine.clients.size.cpu().double()
    held = size.gather(1, cohort.clamp(min=0)).where(cohort >= 0, 0.0)  # [S, m]
    forget, remain = ((held * mask.gather(1, cohort.clamp(min=0))).sum(1) for mask in (request.forget, request.remain))
    both = forget + remain
    return forget / both.clamp(min=1e-30), both / held.sum(1).clamp(min=1e-30)
