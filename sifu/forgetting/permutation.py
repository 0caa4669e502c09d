"""p-values by permutation of worlds: how often models that are only called different differ as much.

p = (1 + permutations whose statistic is at least the observed one) / (1 + permutations), which is at most alpha with
probability at most alpha whatever the law of the margins (Phipson and Smyth 2010). The same permutations serve all
clients: they are seen by the same models, so that a pooled statistic keeps its null.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from sifu.forgetting.auc import rank_auc
from sifu.forgetting.sample import Flags, Floats, samples

_SAME = 1e-9  # statistics closer than this are equal: sums in another order


class Permuted(NamedTuple):
    """A statistic, its p-value and its null."""

    observed: Floats  # [...]
    p_value: Floats  # [...]
    null: Floats  # [draws, ...]


def auc_permutation_test(first: ArrayLike, second: ArrayLike, worlds: Flags) -> Permuted:
    """|AUC - 0.5| of each column of worlds [N, ...] and [M, ...]; ranks are taken once for all permutations."""
    null, observed = _permuted_aucs(first, second, worlds)
    return judged(np.abs(observed - 0.5), np.abs(null - 0.5))


def pooled_auc_test(first: ArrayLike, second: ArrayLike, worlds: Flags) -> Permuted:
    """|mean AUC over clients - 0.5| of worlds [N, C] and [M, C]: one test of all clients together."""
    null, observed = _permuted_aucs(first, second, worlds)
    return judged(np.abs(observed.mean() - 0.5), np.abs(null.mean(1) - 0.5))


def judged(observed: Floats, null: Floats) -> Permuted:
    """The p-value of a statistic [...] by its null [draws, ...]."""
    beaten = (null >= observed - _SAME).sum(0)
    return Permuted(np.asarray(observed), np.asarray((1 + beaten) / (1 + len(null))), null)


def _permuted_aucs(first: ArrayLike, second: ArrayLike, worlds: Flags) -> tuple[Floats, Floats]:
    """AUCs under each permutation [draws, ...] and as observed [...]."""
    one, two = samples("permutation", first, second)
    ranks = rankdata(np.concatenate([one, two]), axis=0).reshape(len(one) + len(two), -1)
    own = np.arange(len(ranks)) < len(one)
    sums = np.vstack([own, worlds]).astype(np.float64) @ ranks  # [1 + draws, columns]
    aucs = rank_auc(sums, len(one), len(two)).reshape(-1, *one.shape[1:])
    return aucs[1:], aucs[0]
