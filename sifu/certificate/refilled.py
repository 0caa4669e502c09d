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
from collections.abc import Sequence

import torch
from torch import Tensor

from sifu.config.federation import Federation
from sifu.core.keys import Keys
from sifu.federation.cohort import draw_cohort, sample_cohort
from sifu.federation.engine import Engine, PastStep
from sifu.federation.segment import Segment

_AT_ONCE = 2**18  # weights of a model whose differences are taken in float64 together: memory


def cohorts_without(segment: Segment, clients: Tensor, federation: Federation) -> Tensor:
    """The cohorts of a segment's draws if `clients` [S, C] had never been there. [S, T, m]"""
    num_seeds, num_rounds = segment.trace.cohort.shape[:2]
    if not num_rounds:
        return segment.trace.cohort
    numbers = torch.arange(num_rounds).repeat(num_seeds)  # [S T]
    remain = (segment.available & ~clients).repeat_interleave(num_rounds, dim=0)  # [S T, C]
    keys = Keys(segment.key_state.repeat_interleave(num_rounds))
    return draw_cohort(keys, numbers, remain, federation).view(num_seeds, num_rounds, -1)


def single_sets(clients: Tensor) -> list[Tensor]:
    """Sets of one: the first, the second, ... of the `clients` [S, C] of each seed; empty where it has fewer. [S, C]"""
    place = clients.cumsum(1)
    return [clients & (place == number) for number in range(1, int(clients.sum(1).max()) + 1)]


def refilled_increments(
    engine: Engine, segment: Segment, sets: Sequence[Tensor], until: Tensor | None = None, spares: int | None = None
) -> Tensor:
    """Delta of each of the `sets` [S, C] in each round of a segment, up to round `until` [S]. [S, T, sets] float64

    `spares`: how many stand-ins the server has trained a round; None: as many as are needed. What another stand-in
    would have done is bounded by clipping; without clipping Delta is infinite there.
    """
    num_clients = engine.clients.num_clients
    cohorts = [cohorts_without(segment, clients, engine.federation) for clients in sets]
    found = torch.zeros(*segment.trace.cohort.shape[:2], len(sets), dtype=torch.float64)
    for step in engine.walk(segment, until):
        others = torch.stack([_members(cohort[step.rows, step.number], num_clients) for cohort in cohorts], dim=1)
        here = _members(segment.trace.cohort[step.rows, step.number], num_clients)  # [R, C]
        if bool((others != here.unsqueeze(1)).any()):
            unknown = _unknown(segment, step, here, spares)  # [R, C]
            found[step.rows, step.number] = _distances(engine, segment, step, here, others, unknown)
    return found


def _members(cohort: Tensor, num_clients: int) -> Tensor:
    """Cohorts [R, m] as masks. [R, C] bool"""
    members = torch.zeros(len(cohort), num_clients + 1, dtype=torch.bool)  # the last one takes the empty places
    return members.scatter_(1, cohort.masked_fill(cohort < 0, num_clients), True)[:, :-1]


def _unknown(segment: Segment, step: PastStep, here: Tensor, spares: int | None) -> Tensor:
    """Clients that were neither in the cohort `here` [R, C] nor among the server's spares. [R, C] bool"""
    if spares is None:
        return torch.zeros_like(here)
    known, waiting = here.clone(), segment.available[step.rows] & ~here
    if spares:
        numbers = torch.full_like(step.rows, step.number)
        keys, count = Keys(segment.key_state[step.rows]), min(spares, here.shape[1])
        line = sample_cohort(keys, numbers, waiting, count)  # [R, spares], the next in line
        known |= _members(line, here.shape[1])
    return ~known


def _distances(
    engine: Engine, segment: Segment, step: PastStep, here: Tensor, others: Tensor, unknown: Tensor
) -> Tensor:
    """Delta of the cohorts `others` [R, sets, C] from the cohort `here` [R, C]. [R, sets]"""
    size = engine.clients.size.cpu()[step.rows].double()  # [R, C]
    change = _weights(others, size.unsqueeze(1)) - _weights(here, size).unsqueeze(1)  # [R, sets, C]
    missing = unknown & ~here
    stand_ins = _listed(others.any(1) & ~here & ~missing)  # [R, e]
    places = torch.cat([segment.trace.cohort[step.rows, step.number], stand_ins], dim=1)  # [R, m + e]
    index = places.clamp(min=0).unsqueeze(1).expand(-1, others.shape[1], -1)
    factors = change.gather(2, index) * (places >= 0).unsqueeze(1)  # [R, sets, m + e]
    moved = _norms(factors, *_updates(engine, segment, step, stand_ins))
    rest = change.abs().where(missing.unsqueeze(1), 0.0).sum(2)  # [R, sets] weight of the stand-ins that nobody trained
    longest = longest_update(engine.federation)
    return (moved + torch.where(rest > 0, rest * longest, 0.0)).nan_to_num(nan=math.inf, posinf=math.inf)


def _weights(members: Tensor, size: Tensor) -> Tensor:
    """v: the clients' shares of the examples of those that take part; all 0 where nobody does. [..., C]"""
    held = size * members
    return held / held.sum(-1, keepdim=True).clamp(min=1)


def _listed(members: Tensor) -> Tensor:
    """Masks [R, C] as client numbers, -1 in empty places. The number of places is a power of 2, so that a GPU records
    few kinds of rounds. [R, e]
    """
    most = int(members.sum(1).max())
    count = min(1 << (most - 1).bit_length(), members.shape[1]) if most else 0
    numbers = torch.arange(members.shape[1]).where(members, members.shape[1]).sort(dim=1).values[:, :count]
    return numbers.masked_fill(numbers == members.shape[1], -1)


def _updates(engine: Engine, segment: Segment, step: PastStep, stand_ins: Tensor) -> tuple[Tensor, Tensor]:
    """The weights that the round began with [R, P], and those of its clients and the stand-ins [R, m + e, P]."""
    local, device = step.result.local, step.before.device
    missing = segment.trace.cohort.shape[2] - local.shape[1]  # Poisson cohorts are padded to the largest
    if missing:
        local = torch.cat([local, local.new_zeros(len(local), missing, local.shape[2])], dim=1)
    if not stand_ins.shape[1]:
        return step.before, local
    parts = (step.rows, torch.full_like(step.rows, step.number), stand_ins, segment.key_state[step.rows])
    rows, numbers, cohort, state = (part.to(device) for part in parts)
    return step.before, torch.cat(
        [local, engine.train_cohort(step.before, rows, numbers, cohort, Keys(state)).local], 1
    )


def _norms(factors: Tensor, before: Tensor, local: Tensor) -> Tensor:
    """|| sum over places of factors [R, sets, m] times the updates local [R, m, P] - before [R, P] ||. [R, sets]"""
    factors, square = factors.to(local.device), torch.zeros(factors.shape[:2], dtype=torch.float64, device=local.device)
    for first in range(0, before.shape[1], _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        updates = local[..., part].double() - before[:, None, part].double()
        square += torch.bmm(factors, updates).square().sum(2)
    return square.sqrt().cpu()


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
