"""What a round adds to Psi of some clients, from the numbers that the server kept of it.

The same counts as sifu/certificate/sensitivity.py, empty_seats.py and refilled.py, for one run instead of many seeds,
and without training anything again: what no reply told is bounded, or infinite.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from sifu.certificate.rules import Rules
from sifu.flower.past_round import PastRound

_NO_REST = 1e-12  # the whole cohort is forgotten


def increment(past: PastRound, clients: Collection[str], rules: Rules, longest: float) -> float:
    """Delta of `clients` together, who were connected in the round; `longest`: the longest update of a client."""
    if rules.seats == "refilled":
        return refilled(past, clients, longest)
    if not any(client in past.place for client in clients):
        return 0.0
    members = np.array([client in clients for client in past.asked], dtype=bool) & past.averaged  # [q]
    if not members.any():
        return 0.0
    weight = _weights(past, rules.weight)  # [q]
    rest = 1 - _forgotten_weight(past, clients, rules.weight)
    if rest < _NO_REST:  # without them, the round would not have happened
        return past.step
    if rules.sets == "exact":
        return _exact(past, weight, members) / rest
    return float((weight * past.distance)[members].sum()) / rest


def refilled(past: PastRound, clients: Collection[str], longest: float) -> float:
    """Delta where the next in line take the seats of `clients`: || T_S(theta) - T_S'(theta) ||."""
    if past.seats_without(clients) == past.seats and not any(
        past.place.get(c, past.seats) < past.seats for c in clients
    ):
        return 0.0  # the same clients sit there
    here = _shares(past.held * past.averaged)  # [q]
    line, seats = _line_without(past, clients), past.seats_without(clients)
    there = np.zeros_like(here)
    there[line[:seats]] = past.held[line[:seats]]
    if min(seats, past.count - len(clients)) > len(line):  # a stand-in that nobody trained
        return _with_strangers(past, here, there, longest)
    return _length(past, _shares(there) - here)


def _line_without(past: PastRound, clients: Collection[str]) -> list[int]:
    """The places of the clients that were asked, but for `clients`."""
    return [place for place, client in enumerate(past.asked) if client not in clients]


def _with_strangers(past: PastRound, here: np.ndarray, there: np.ndarray, longest: float) -> float:
    """Delta where some stand-ins were not trained: their updates are at most `longest`, and together they hold at most
    the examples of all clients that were not asked. The bound is convex in their share: an end is the largest.
    """
    if math.isinf(longest):
        return math.inf
    unasked = max(past.total - float(past.held.sum()), 0.0)
    most = unasked / (float(there.sum()) + unasked) if unasked else 0.0  # their largest share
    ends = [_length(past, (1 - share) * _shares(there) - here) + share * longest for share in (0.0, most)]
    return max(ends)


def contracts(past: PastRound, clients: Collection[str], rules: Rules) -> bool:
    """Whether somebody trains in the round, and would without `clients`: else it brings no models together."""
    if rules.seats != "refilled":
        return True
    line = _line_without(past, clients)[: past.seats_without(clients)]
    return bool(past.averaged.any()) and bool((past.held[line] > 0).any())


def _weights(past: PastRound, weight: str) -> np.ndarray:
    """v: each client's share of the examples of the cohort, or of all that were connected; 0 where not averaged. [q]"""
    held = past.held * past.averaged
    return held / past.total if weight == "share" else _shares(held)


def _forgotten_weight(past: PastRound, clients: Collection[str], weight: str) -> float:
    """v_W: the weight of `clients` together, in the cohort or in all that were connected."""
    if weight == "share":
        return sum(past.examples_of(client) for client in clients) / past.total
    members = [place for client, place in past.place.items() if client in clients]
    return float(_weights(past, weight)[members].sum())


def _shares(held: np.ndarray) -> np.ndarray:
    """Each client's share of the examples; all 0 where there are none. [q]"""
    total = held.sum()
    return held / total if total > 0 else np.zeros_like(held)


def _exact(past: PastRound, weight: np.ndarray, members: np.ndarray) -> float:
    """|| sum over the members of v_i (theta_i - theta^{n+1}) ||."""
    own = np.where(members, weight, 0.0)
    return _length(past, own - own.sum() * _shares(past.held * past.averaged))


def _length(past: PastRound, factors: np.ndarray) -> float:
    """|| sum of factors [q] times updates ||; rounding may make the square a little negative."""
    if not factors.any():
        return 0.0
    return math.sqrt(max(float(factors @ past.gram @ factors), 0.0))
