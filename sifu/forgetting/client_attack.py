"""Every client attacked at once, forgotten or remaining: AUC of its margin, U-LiRA, p-values, and all clients together.

Remaining clients show whether a model is only shifted: then they are told apart as well as the forgotten ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sifu.forgetting.auc import auc, auc_null_deviation
from sifu.forgetting.permutation import auc_permutation_test, pooled_auc_test
from sifu.forgetting.pooling import benjamini_hochberg
from sifu.forgetting.sample import Floats, enough_models
from sifu.forgetting.seeds import disjoint_halves, permuted_worlds
from sifu.forgetting.u_lira import ULira, u_lira


@dataclass(frozen=True)
class ClientAttack:
    """A column a client (or a set of clients). p-values are two-sided, of AUC."""

    auc: Floats  # [C] above a half: margins are higher than Scratch's
    null_deviation: float
    u_lira: ULira
    p_value: Floats  # [C]
    adjusted: Floats  # [C] by Benjamini and Hochberg
    pooled_p_value: float  # of all clients together
    models: tuple[int, int]
    enough: bool


def client_attack(
    unlearned: ArrayLike,
    oracles: ArrayLike,
    unlearned_seeds: ArrayLike,
    oracle_seeds: ArrayLike,
    *,
    paired: bool = False,
    draws: int = 999,
) -> ClientAttack:
    """The attack on statistics [N, C] and [M, C], such as `client_margins`, of models with these seeds.

    Not paired, as an attacker sees it: of worlds that share seeds, disjoint halves are compared. Paired: all models,
    with permutations within seeds; AUC's null deviation is then an upper limit.
    """
    one, two = np.asarray(unlearned, np.float64), np.asarray(oracles, np.float64)
    own, other = np.asarray(unlearned_seeds), np.asarray(oracle_seeds)
    if not paired:
        first, second = disjoint_halves(own, other)
        one, two, own, other = one[first], two[second], own[first], other[second]
    permuted = permuted_worlds(own, other, draws, paired=paired)
    p_value = auc_permutation_test(one, two, permuted).p_value
    counts = len(one), len(two)
    return ClientAttack(
        auc=auc(one, two),
        null_deviation=auc_null_deviation(*counts),
        u_lira=u_lira(one, two, own, other),
        p_value=p_value,
        adjusted=benjamini_hochberg(p_value),
        pooled_p_value=float(pooled_auc_test(one, two, permuted).p_value),
        models=counts,
        enough=enough_models("u_lira", *counts),
    )
