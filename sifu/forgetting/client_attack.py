"""Every client attacked at once, forgotten or remaining: AUC of its margin, p-values, and all clients together.

Remaining clients show whether a model is only shifted: then they are told apart as well as the forgotten ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sifu.forgetting.auc import auc
from sifu.forgetting.false_discovery import benjamini_hochberg
from sifu.forgetting.permutation import auc_permutation_test, pooled_auc_test
from sifu.forgetting.sample import Floats
from sifu.forgetting.seeds import permuted_worlds

LEVEL = 0.05  # of false calls among the clients that are called told apart
_DRAWS = 999  # permutations, at least


@dataclass(frozen=True)
class ClientAttack:
    """A column a client. p-values are two-sided, of AUC."""

    auc: Floats  # [C] above a half: margins are higher than Scratch's
    p_value: Floats  # [C]
    adjusted: Floats  # [C] by Benjamini and Hochberg
    pooled_p_value: float  # of all clients together

    @property
    def told(self) -> float:
        """The share of clients that are told apart."""
        return float(np.mean(self.adjusted <= LEVEL))


def client_attack(unlearned: ArrayLike, oracles: ArrayLike, seeds: ArrayLike, draws: int | None = None) -> ClientAttack:
    """The attack on statistics [N, C] of both worlds, such as `client_margins`; their models have the same `seeds`.

    Models of a seed belong together: worlds are permuted within seeds, which has more power than an attacker, who has
    no such pairs (`u_lira_test`). Without `draws` there are as many as it takes to call a single client of all.
    """
    one, two = np.asarray(unlearned, np.float64), np.asarray(oracles, np.float64)
    permuted = permuted_worlds(seeds, seeds, draws or _enough_draws(one.shape[1]), paired=True)
    p_value = auc_permutation_test(one, two, permuted).p_value
    pooled = float(pooled_auc_test(one, two, permuted).p_value)
    return ClientAttack(auc(one, two), p_value, benjamini_hochberg(p_value), pooled)


def _enough_draws(clients: int) -> int:
    """Permutations with which the smallest p-value of a client, times their number, is at most half the level."""
    return max(_DRAWS, math.ceil(2 * clients / LEVEL) - 1)
