"""RULI: per-client attacks with three worlds (Naderloui et al., USENIX Security 2025), for clients of a federation.

In every seed a client is IN (takes part and stays), OUT (never takes part) or UNLEARN (takes part and is forgotten), by
a draw of its own: one set of seeds serves all clients. Densities of a client's statistic are Gaussian kernels with
Scott's bandwidth, fitted to one fold of the seeds and read at the other; the score is l_u / (l_u + l_out).

- Privacy game: was the client unlearned, or never seen? Both under unlearned models.
- Efficacy game: unlearned under the unlearned model, against never seen under the original one.

The suite's own tables have their roles from two worlds, and ask `separated` alone. The games over drawn roles are for
who trains models with `drawn_roles` (docs/forgetting.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from sifu.errors import SifuError
from sifu.forgetting.auc import LOW_RATES, LowRate, auc_null_deviation, low_rate, mann_whitney
from sifu.forgetting.sample import Floats, Ints, enough_models, samples
from sifu.forgetting.seeds import folds

_SCOTT = -0.2  # exponent of the number of models, in one dimension
_NARROW = 1e-9  # of the size of values: a bandwidth where all models agree


class Role(IntEnum):
    """What a client does in a seed."""

    IN = 0
    OUT = 1
    UNLEARN = 2


@dataclass(frozen=True)
class Game:
    """An attack on every client: AUC [C] of the mean of both folds, and scores of all clients in two heaps."""

    auc: Floats  # [C]
    null_deviation: Floats  # [C] of the smaller fold: an upper limit
    unlearned: Floats  # [all UNLEARN models of all clients]
    never: Floats  # [all OUT models of all clients]
    enough: bool

    def low_rates(self) -> dict[float, LowRate]:
        """Hits at 1% and 0.1% false alarms under one threshold for all clients, with their counts."""
        return {rate: low_rate(self.unlearned, self.never, rate) for rate in LOW_RATES}


class Separated(NamedTuple):
    """AUC of the mean of both folds, an upper limit of its null's deviation, and the scores of both groups."""

    auc: Floats  # [C]
    null_deviation: float
    unlearned: Floats  # [N, C]
    never: Floats  # [M, C]


def privacy_game(after: ArrayLike, roles: ArrayLike, seeds: ArrayLike) -> Game:
    """Unlearned against never seen, both under unlearned models, over drawn roles; statistics [S, C], roles [S, C],
    seeds [S].
    """
    return _game(after, after, roles, seeds)


def efficacy_game(before: ArrayLike, after: ArrayLike, roles: ArrayLike, seeds: ArrayLike) -> Game:
    """Unlearned under unlearned models (`after`) against never seen under original ones (`before`), over drawn roles;
    all [S, C].
    """
    return _game(after, before, roles, seeds)


def _game(unlearned: ArrayLike, never: ArrayLike, roles: ArrayLike, seeds: ArrayLike) -> Game:
    one, two = samples("ruli", unlearned, never)
    role, number = np.asarray(roles), np.asarray(seeds)
    if not one.shape == two.shape == role.shape or one.ndim != 2 or len(number) != len(one):
        raise SifuError(f"RULI needs statistics and roles [seeds, clients], not {one.shape}, {two.shape}, {role.shape}")
    found = [_client(one[:, c], two[:, c], role[:, c], number) for c in range(one.shape[1])]
    smallest = min(min(len(client.unlearned), len(client.never)) for client in found)
    return Game(
        np.concatenate([client.auc for client in found]),
        np.array([client.null_deviation for client in found]),
        np.concatenate([client.unlearned[:, 0] for client in found]),
        np.concatenate([client.never[:, 0] for client in found]),
        enough_models("ruli", smallest),
    )


def _client(one: Floats, two: Floats, role: Ints, seeds: Ints) -> Separated:
    """The attack on one client: its models with the role UNLEARN against those with OUT."""
    forgot, never = role == Role.UNLEARN, role == Role.OUT
    return separated(one[forgot, None], two[never, None], seeds[forgot], seeds[never])


def separated(unlearned: ArrayLike, never: ArrayLike, unlearned_seeds: ArrayLike, never_seeds: ArrayLike) -> Separated:
    """Two groups of models, [N, C] and [M, C], by densities of the other fold."""
    one, two = samples("ruli", unlearned, never)
    own, other = folds(unlearned_seeds, never_seeds)
    scores = np.empty(one.shape), np.empty(two.shape)
    for fold in (False, True):
        for column in range(one.shape[1]):
            fitted = one[own != fold, column], two[other != fold, column]
            scores[0][own == fold, column] = density_score(*fitted, one[own == fold, column])
            scores[1][other == fold, column] = density_score(*fitted, two[other == fold, column])
    halves = [(scores[0][own == fold], scores[1][other == fold]) for fold in (False, True)]
    aucs = np.mean([mann_whitney(*half) for half in halves], axis=0)
    deviation = max(auc_null_deviation(len(first), len(second)) for first, second in halves)
    return Separated(np.asarray(aucs), deviation, *scores)


def density_score(unlearned: Floats, never: Floats, at: Floats) -> Floats:
    """l_u / (l_u + l_out) at points [q], from logarithms: far from both samples the densities themselves are 0."""
    return np.asarray(expit(log_density(unlearned, at) - log_density(never, at)))


def log_density(sample: Floats, at: Floats) -> Floats:
    """The logarithm of a sum of Gaussian kernels over a sample [n] at points [q], bandwidth s n^(-1/5) (Scott). [q]"""
    width = max(sample.std(ddof=1) * len(sample) ** _SCOTT, _NARROW * max(1.0, float(np.abs(sample).max())))
    kernels = -0.5 * ((at[:, None] - sample) / width) ** 2  # [q, n]
    highest = kernels.max(1)
    total = np.log(np.exp(kernels - highest[:, None]).sum(1))
    return highest + total - math.log(len(sample) * width * math.sqrt(2 * math.pi))


def drawn_roles(seeds: Sequence[int], clients: int) -> Ints:
    """The role of every client in every seed, a function of their numbers alone: of three seeds in a row, each client
    has every role once. No stage draws roles: docs/forgetting.md says what they are for. [S, C]
    """
    import torch

    from sifu.core.keys import Keys

    drawn = Keys.of([seed // len(Role) for seed in seeds]).fold("roles").each(torch.arange(clients)).state  # [S, C]
    orders = np.array(list(permutations(Role)))  # [6, 3]
    return orders[(drawn % len(orders)).numpy(), (np.asarray(seeds) % len(Role))[:, None]]
