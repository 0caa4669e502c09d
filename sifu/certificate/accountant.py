"""Privacy accounting of DP-FedAvg: what all rounds together spend, with the sampling that is really used.

Poisson sampling: adding or removing a client moves the sum by C; composed exactly (privacy loss distributions), for a
group of k as a mixture over how many of them were sampled. Fixed cohorts: replacing a client moves it by 2 C, and only
the Renyi bound of Wang, Balle and Kasiviswanathan (2019) is known. All by Google's dp-accounting.
"""

from __future__ import annotations

import logging
import math
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import dp_accounting
import numpy as np
from dp_accounting import pld, rdp
from scipy.stats import binom

from sifu.cohort import cohort_places
from sifu.scenario import Federation

_GRID, _GROUP_GRID = 5e-3, 5e-2  # of privacy losses; an epsilon is too large by about as much, never too small
logging.getLogger("absl").setLevel(logging.ERROR)  # it warns of every Renyi order that it leaves out


class Stretch(NamedTuple):
    """Rounds with the same clients."""

    clients: int  # that could be sampled
    rounds: int


Stretches = tuple[Stretch, ...]


def noise_multiplier(federation: Federation) -> float:
    """The noise over what one client can change: C / m by being there or not, 2 C / m by being another."""
    privacy = federation.privacy
    assert privacy is not None
    change = privacy.update_clip * (1 if federation.sampling == "poisson" else 2)
    return privacy.noise * federation.clients_per_round / change


@lru_cache(maxsize=4096)
def spent_epsilon(federation: Federation, stretches: Stretches, delta: float, group: int = 1) -> float:
    """The epsilon at `delta` that all these rounds spend, for a group of clients that all took part in them."""
    stretches = tuple(stretch for stretch in stretches if stretch.rounds)
    if not stretches:
        return 0.0
    if noise_multiplier(federation) == 0 or any(federation.clients_per_round > s.clients for s in stretches):
        return math.inf
    if federation.sampling == "poisson":
        return _poisson_epsilon(federation, stretches, delta, group)
    return _fixed_epsilon(federation, stretches, delta, group)


def _poisson_epsilon(federation: Federation, stretches: Stretches, delta: float, group: int) -> float:
    noise, expected = noise_multiplier(federation), federation.clients_per_round
    parts = [_one_round(noise, expected / clients, group).self_compose(rounds) for clients, rounds in stretches]
    total = reduce(lambda one, other: one.compose(other), parts)
    overfull = sum(
        s.rounds * binom.sf(cohort_places(federation, s.clients), s.clients, expected / s.clients) for s in stretches
    )
    # a cohort that does not fit happens in either world with this chance: delta pays (1 + e^epsilon) times for it
    epsilon = total.get_epsilon_for_delta(delta)
    return float(total.get_epsilon_for_delta(max(delta - overfull * (1 + math.exp(min(epsilon, 700.0))), 0.0)))


@lru_cache(maxsize=256)
def _one_round(noise: float, chance: float, group: int) -> Any:
    """The privacy loss of one Poisson round: of a group, a mixture over how many of them it samples."""
    losses = pld.privacy_loss_distribution
    if group == 1:
        return losses.from_gaussian_mechanism(noise, value_discretization_interval=_GRID, sampling_prob=chance)
    numbers = np.arange(group + 1)
    return losses.from_mixture_gaussian_mechanism(
        noise, numbers, binom.pmf(numbers, group, chance), value_discretization_interval=_GROUP_GRID
    )


def _fixed_epsilon(federation: Federation, stretches: Stretches, delta: float, group: int) -> float:
    accountant = rdp.RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    base = dp_accounting.GaussianDpEvent(noise_multiplier(federation))
    for clients, rounds in stretches:
        sample = dp_accounting.SampledWithoutReplacementDpEvent(clients, federation.clients_per_round, base)
        accountant.compose(dp_accounting.SelfComposedDpEvent(sample, rounds))
    if group == 1:
        return float(accountant.get_epsilon(delta))
    return _group_epsilon(accountant, delta, group)


def _group_epsilon(accountant: Any, delta: float, group: int) -> float:
    """k epsilon at k e^{(k - 1) epsilon} delta(epsilon) = `delta`, with the Renyi bound on delta(epsilon)."""
    orders, values = np.asarray(accountant.orders), np.asarray(accountant.rdp)
    usable = orders > group
    bounds = ((orders - 1) * values + math.log(group / delta))[usable] / (orders - group)[usable]
    return float(group * bounds.min())


@lru_cache(maxsize=256)
def multiplier_for(epsilon: float, delta: float, clients: int, expected: int, rounds: int) -> float:
    """The smallest noise over C / m with which `rounds` Poisson rounds are (epsilon, delta)-private for one client."""

    def composed(multiplier: float) -> dp_accounting.DpEvent:
        sample = dp_accounting.PoissonSampledDpEvent(expected / clients, dp_accounting.GaussianDpEvent(multiplier))
        return dp_accounting.SelfComposedDpEvent(sample, rounds)

    return float(
        dp_accounting.calibrate_dp_mechanism(
            lambda: pld.PLDAccountant(value_discretization_interval=_GRID),
            composed,
            epsilon,
            delta,
            dp_accounting.ExplicitBracketInterval(0.05, 1000.0),
            tol=1e-3,
        )
    )


def rounds_left(federation: Federation, past: Stretches, clients: int, epsilon: float, delta: float, most: int) -> int:
    """How many more rounds with `clients` clients, up to `most`, keep all of them together (epsilon, delta)-private."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        fits = spent_epsilon(federation, (*past, Stretch(clients, middle)), delta) <= epsilon
        low, high = (middle, high) if fits else (low, middle - 1)
    return low
