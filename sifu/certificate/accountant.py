"""Privacy accounting of DP-FedAvg: the epsilon of all rounds together, with the sampling that is really used.

Poisson sampling: adding or removing a client moves the sum by C. Rounds are composed exactly (privacy loss
distributions); a group of k is a mixture over how many of them were sampled. Fixed cohorts: replacing a client moves
the sum by 2 C. The bound is the Renyi bound of Wang, Balle and Kasiviswanathan (2019), or the one for a client in every
cohort, which is smaller if there is little noise. Computed by Google's dp-accounting. The sampling probability, m over
the number of available clients, counts as public.
"""

from __future__ import annotations

import logging
import math
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import dp_accounting
import numpy as np
import torch
from dp_accounting import pld, rdp
from numpy.typing import NDArray
from scipy.stats import binom

from sifu.certificate.gaussian import epsilon_at
from sifu.certificate.stretch import Stretch, Stretches
from sifu.config.federation import Federation
from sifu.errors import SifuError

# spacing of privacy losses, for a group that of each client in it; epsilon is too large by about this much, never small
_GRID, _GROUP_GRID = 5e-3, 1e-2
_MULTIPLIERS = (0.2, 1000.0)  # range that is searched for the noise
logging.getLogger("absl").setLevel(logging.ERROR)  # it warns about every Renyi order that it skips


def noise_multiplier(federation: Federation) -> float:
    """The noise divided by what one client can change: C / m if added or removed, 2 C / m if replaced."""
    privacy = federation.privacy
    assert privacy is not None
    change = privacy.update_clip * (1 if federation.sampling == "poisson" else 2)
    return privacy.noise * federation.clients_per_round / change


@lru_cache(maxsize=4096)
def spent_epsilon(federation: Federation, stretches: Stretches, delta: float, group: int = 1) -> float:
    """The epsilon at `delta` of all these rounds together, for a group of clients that were available in all."""
    stretches = tuple(stretch for stretch in stretches if stretch.rounds)
    noise = noise_multiplier(federation)
    if not stretches or noise == 0:
        return math.inf if stretches else 0.0
    if federation.sampling == "poisson":
        return _poisson_epsilon(federation, stretches, delta, group)
    rounds = sum(stretch.rounds for stretch in stretches)
    in_every_cohort = torch.tensor([group * math.sqrt(rounds) / noise], dtype=torch.float64)
    return min(float(epsilon_at(delta, in_every_cohort)), _fixed_epsilon(federation, stretches, delta, group))


def _poisson_epsilon(federation: Federation, stretches: Stretches, delta: float, group: int) -> float:
    noise, expected = noise_multiplier(federation), federation.clients_per_round
    parts = [_poisson_rounds(noise, min(1.0, expected / clients), group, rounds) for clients, rounds in stretches]
    return float(reduce(lambda total, part: total.compose(part), parts).get_epsilon_for_delta(delta))


@lru_cache(maxsize=1024)
def _poisson_rounds(noise: float, chance: float, group: int, rounds: int) -> Any:
    """The privacy loss of `rounds` Poisson rounds; kept, as every request adds to the same past."""
    return _poisson_round(noise, chance, group).self_compose(rounds)


@lru_cache(maxsize=256)
def _poisson_round(noise: float, chance: float, group: int) -> Any:
    """The privacy loss of one Poisson round; for a group, a mixture over how many of them are sampled."""
    losses = pld.privacy_loss_distribution
    if group == 1:
        return losses.from_gaussian_mechanism(noise, value_discretization_interval=_GRID, sampling_prob=chance)
    numbers = np.arange(group + 1)
    return losses.from_mixture_gaussian_mechanism(
        noise, numbers, binom.pmf(numbers, group, chance), value_discretization_interval=_GROUP_GRID * group
    )


def _fixed_epsilon(federation: Federation, stretches: Stretches, delta: float, group: int) -> float:
    noise, size = noise_multiplier(federation), federation.clients_per_round
    parts = [(rounds, _fixed_round(noise, clients, min(size, clients))) for clients, rounds in stretches]
    orders, values = parts[0][1].orders, np.sum([rounds * part.values for rounds, part in parts], axis=0)
    if group == 1:
        return float(rdp.compute_epsilon(orders, values, delta)[0])
    return _group_epsilon(orders, values, delta, group)


class Renyi(NamedTuple):
    """Renyi divergences of one round; rounds add up."""

    orders: NDArray[np.float64]
    values: NDArray[np.float64]


@lru_cache(maxsize=256)
def _fixed_round(noise: float, clients: int, size: int) -> Renyi:
    """The Renyi divergences of one round with a fixed cohort of `size`."""
    accountant = rdp.RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    base = dp_accounting.GaussianDpEvent(noise)
    accountant.compose(dp_accounting.SampledWithoutReplacementDpEvent(clients, size, base))
    return Renyi(np.asarray(accountant.orders), np.asarray(accountant.rdp))


def _group_epsilon(orders: NDArray[np.float64], values: NDArray[np.float64], delta: float, group: int) -> float:
    """k epsilon at k e^{(k - 1) epsilon} delta(epsilon) = `delta`, with the Renyi bound on delta(epsilon)."""
    usable = orders > group
    bounds = ((orders - 1) * values + math.log(group / delta))[usable] / (orders - group)[usable]
    return float(group * bounds.min())


@lru_cache(maxsize=256)
def multiplier_for(epsilon: float, delta: float, clients: int, expected: int, rounds: int) -> float:
    """The smallest noise over C / m with which `rounds` Poisson rounds are (epsilon, delta)-private for one client."""

    def composed(multiplier: float) -> dp_accounting.DpEvent:
        sample = dp_accounting.PoissonSampledDpEvent(expected / clients, dp_accounting.GaussianDpEvent(multiplier))
        return dp_accounting.SelfComposedDpEvent(sample, rounds)

    def private(multiplier: float) -> bool:
        accountant = pld.PLDAccountant(value_discretization_interval=_GRID)
        return bool(accountant.compose(composed(multiplier)).get_epsilon(delta) <= epsilon)

    low, high = _MULTIPLIERS
    if not private(high):
        goal = f"{rounds} rounds ({epsilon:g}, {delta:g})-private"
        raise SifuError(f"no noise of up to {high:g} times C / m makes {goal}")
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if private(middle) else (middle, high)
    return high


def rounds_left(federation: Federation, past: Stretches, clients: int, epsilon: float, delta: float, limit: int) -> int:
    """How many more rounds with `clients` clients, at most `limit`, keep all rounds (epsilon, delta)-private."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        fits = spent_epsilon(federation, (*past, Stretch(clients, middle)), delta) <= epsilon
        low, high = (middle, high) if fits else (low, middle - 1)
    return low
