"""Delta with refilled seats: how far a round's average is from that of the run that is made without some clients.

Retraining without the clients W samples from those that remain, so the next client in line takes a forgotten one's
seat. With S the cohort of the round and S' that of the same draws without W,
    Delta_W = || T_S(theta) - T_S'(theta) ||,    T_S(theta) = theta + sum over i in S of v_i (theta_i - theta),
where theta is the model that the round began with and theta_i what client i makes of it. If a local training scales
distances by at most B^K, alpha(n + 1) <= Delta_W(n) + B^K alpha(n): Psi bounds alpha for every W, also where a whole
cohort leaves, and with full participation, where no seat can be refilled.

The clients of S' that were not in S are the stand-ins. They are trained here, when their Delta is asked for. A server
would have to train them in the round itself: `spares` clients a round, which are not averaged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import tee

import torch
from torch import Tensor

from sifu.config.federation import Federation
from sifu.core.keys import Keys
from sifu.federation.cohort import draw_cohort, first_in_line, priorities, sample_cohort
from sifu.federation.engine import Engine, PastStep
from sifu.federation.segment import Segment
from sifu.hardware.upload import upload

_AT_ONCE = 2**18  # weights of a model whose differences are taken in float64 together: memory


def cohorts_without(segment: Segment, clients: Tensor, federation: Federation) -> Tensor:
    """The cohorts of a segment's draws if `clients` [S, C] had never been there. [S, T, m]"""
    return cohorts_without_each(segment, [clients], federation)[0]


def cohorts_without_each(segment: Segment, sets: Sequence[Tensor], federation: Federation) -> list[Tensor]:
    """The same for each of the `sets` [S, C]. Clients' priorities are drawn once. [S, T, m] each"""
    num_seeds, num_rounds = segment.trace.cohort.shape[:2]
    if not num_rounds:
        return [segment.trace.cohort] * len(sets)
    numbers = torch.arange(num_rounds).repeat(num_seeds)  # [S T]
    keys = Keys(segment.key_state.repeat_interleave(num_rounds))
    remain = [(segment.available & ~clients).repeat_interleave(num_rounds, dim=0) for clients in sets]  # [S T, C]
    if federation.sampling == "fixed":
        priority = priorities(keys, numbers, segment.available.shape[1])
        cohorts = [first_in_line(priority, left, federation.clients_per_round) for left in remain]
    else:
        cohorts = [draw_cohort(keys, numbers, left, federation) for left in remain]
    return [cohort.view(num_seeds, num_rounds, -1) for cohort in cohorts]


def single_sets(clients: Tensor) -> list[Tensor]:
    """Sets of one: the first, the second, ... of the `clients` [S, C] of each seed; empty where it has fewer. [S, C]"""
    place = clients.cumsum(1)
    return [clients & (place == number) for number in range(1, int(clients.sum(1).max()) + 1)]


@dataclass(frozen=True)
class Seats:
    """Who sits where in a round, and who would without each of some sets of clients."""

    rows: Tensor  # [R] the seeds that have the round
    here: Tensor  # [R, C] bool: its cohort
    others: Tensor  # [R, sets, C] bool: its cohort without each set
    missing: Tensor  # [R, C] bool: clients whose updates the server cannot know

    @property
    def stand_ins(self) -> Tensor:
        """Clients that take a seat in one of the other cohorts alone, -1 in empty places. [R, e]"""
        return _listed(self.others.any(1) & ~self.here & ~self.missing)

    @property
    def changed(self) -> Tensor:
        """The sets without which the cohort is another one, first; as many places as the row with the most. [R, k]"""
        same = (self.others == self.here.unsqueeze(1)).all(2)  # [R, sets]
        return torch.argsort(same.long(), dim=1, stable=True)[:, : int((~same).sum(1).max())]


def refilled_increments(
    engine: Engine, segment: Segment, sets: Sequence[Tensor], until: Tensor | None = None, spares: int | None = None
) -> Tensor:
    """Delta of each of the `sets` [S, C] in each round of a segment, up to round `until` [S]. [S, T, sets] float64

    `spares`: how many stand-ins the server has trained a round; None: as many as are needed. What another stand-in
    would have done is bounded by clipping; without clipping Delta is infinite there.
    """
    ahead, along = tee(_seats(engine, segment, sets, segment.rounds if until is None else until, spares))
    steps = engine.walk(segment, until, (seats.stand_ins for seats in ahead))
    # fetched at the end: while the device trains, the host prepares the next rounds
    deltas = [(step.number, step.rows, _deltas(engine, step, seats)) for step, seats in zip(steps, along, strict=True)]
    found = torch.zeros(*segment.trace.cohort.shape[:2], len(sets), dtype=torch.float64)
    for number, rows, delta in deltas:
        found[rows, number] = delta.cpu()
    return found.nan_to_num(nan=math.inf, posinf=math.inf)


def _seats(
    engine: Engine, segment: Segment, sets: Sequence[Tensor], until: Tensor, spares: int | None
) -> Iterator[Seats]:
    """The seats of every round of a segment up to round `until` [S]."""
    num_clients, cohorts = engine.clients.num_clients, cohorts_without_each(segment, sets, engine.federation)
    last = segment.rounds.minimum(until)
    for number in range(int(last.max()) if len(last) else 0):
        rows = torch.nonzero(last > number).flatten()
        here = _members(segment.trace.cohort[rows, number], num_clients)  # [R, C]
        others = torch.stack([_members(cohort[rows, number], num_clients) for cohort in cohorts], dim=1)
        yield Seats(rows, here, others, _missing(segment, number, rows, here, spares))


def _members(cohort: Tensor, num_clients: int) -> Tensor:
    """Cohorts [R, m] as masks. [R, C] bool"""
    members = torch.zeros(len(cohort), num_clients + 1, dtype=torch.bool)  # the last one takes the empty places
    return members.scatter_(1, cohort.masked_fill(cohort < 0, num_clients), True)[:, :-1]


def _missing(segment: Segment, number: int, rows: Tensor, here: Tensor, spares: int | None) -> Tensor:
    """Clients that were neither in the cohort `here` [R, C] nor among the server's spares. [R, C] bool"""
    if spares is None:
        return torch.zeros_like(here)
    known, waiting = here.clone(), segment.available[rows] & ~here
    if spares:
        keys, count = Keys(segment.key_state[rows]), min(spares, here.shape[1])
        line = sample_cohort(keys, torch.full_like(rows, number), waiting, count)  # [R, spares], the next in line
        known |= _members(line, here.shape[1])
    return ~known


def _listed(members: Tensor) -> Tensor:
    """Masks [R, C] as client numbers, -1 in empty places. The number of places is a power of 2, so that a GPU records
    few kinds of rounds. [R, e]
    """
    most = int(members.sum(1).max())
    count = min(1 << (most - 1).bit_length(), members.shape[1]) if most else 0
    numbers = torch.arange(members.shape[1]).where(members, members.shape[1]).sort(dim=1).values[:, :count]
    return numbers.masked_fill(numbers == members.shape[1], -1)


def _deltas(engine: Engine, step: PastStep, seats: Seats) -> Tensor:
    """Delta of the other cohorts from the round's own; NaN if a model has diverged. On the device. [R, sets] float64"""
    before, (places, local, _) = step.before, step.result
    size = upload(engine.clients.size, before.device)[upload(seats.rows, before.device)].double()  # [R, C]
    here, others = upload(seats.here, before.device), upload(seats.others, before.device)
    change = _weights(others, size.unsqueeze(1)) - _weights(here, size).unsqueeze(1)  # [R, sets, C]
    index = places.clamp(min=0).unsqueeze(1).expand(-1, others.shape[1], -1)
    factors = change.gather(2, index) * (places >= 0).unsqueeze(1)  # [R, sets, m + e]
    changed = upload(seats.changed, before.device)  # few: most clients take part in few rounds
    chosen = factors.gather(1, changed.unsqueeze(2).expand(-1, -1, factors.shape[2]))  # [R, k, m + e]
    moved = torch.zeros_like(factors[..., 0]).scatter(1, changed, _norms(chosen, before, local))
    moved = moved.where((factors != 0).any(2), 0.0)  # also where an update is not finite
    unknown = upload(seats.missing & ~seats.here, before.device).unsqueeze(1)
    rest = change.abs().where(unknown, 0.0).sum(2)  # [R, sets] weight of the stand-ins that nobody trained
    return moved + torch.where(rest > 0, rest * longest_update(engine.federation), 0.0)


def _weights(members: Tensor, size: Tensor) -> Tensor:
    """v: the clients' shares of the examples of those that take part; all 0 where nobody does. [..., C]"""
    held = size * members
    return held / held.sum(-1, keepdim=True).clamp(min=1)


def _norms(factors: Tensor, before: Tensor, local: Tensor) -> Tensor:
    """|| sum over places of factors [R, sets, m] times the updates local [R, m, P] - before [R, P] ||. [R, sets]"""
    square = torch.zeros(factors.shape[:2], dtype=torch.float64, device=local.device)
    for first in range(0, before.shape[1], _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        updates = local[..., part].double() - before[:, None, part].double()
        square += torch.bmm(factors, updates).square().sum(2)
    return square.sqrt()


def longest_update(federation: Federation) -> float:
    """The longest that a client's update can be: K steps with gradients of at most `clip`, and momentum.

    Infinite without clipping, or with weight decay, which is not clipped.
    """
    if federation.clip is None or federation.weight_decay:
        return math.inf
    momentum, steps = federation.momentum, federation.local_steps
    # step k moves by eta clip (1 + momentum + ... + momentum^(k - 1))
    lengths = sum(sum(momentum**j for j in range(k)) for k in range(1, steps + 1))
    return federation.client_lr * federation.clip * lengths
