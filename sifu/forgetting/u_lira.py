"""U-LiRA: a likelihood-ratio test of an unlearned model against retraining (Hayes et al., SaTML 2025), for clients.

World 1: unlearned models of a federation with the client. World 0: Scratch without it. Each has its own Gaussian of
the client's statistic; the score of a model is log N(t; m_1, s_1) - log N(t; m_0, s_0). Gaussians are fitted to one
fold of the seeds and score the other, both ways, so that no model is scored by a fit that saw it.

A statistic may have several numbers: [N, C, K] has Gaussians of K numbers. So the pair of models before and after a
request is attacked (`pair`), or several margins of a client at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sifu.forgetting.auc import LOW_RATES, LowRate, auc_null_deviation, low_rate, mann_whitney
from sifu.forgetting.permutation import Permuted, judged
from sifu.forgetting.sample import Flags, Floats, enough_models, require_models, samples
from sifu.forgetting.seeds import folds, permuted_within_folds

_RIDGE = 1e-9  # of the mean variance: makes a covariance invertible where all models agree


@dataclass(frozen=True)
class ULira:
    """What the attack finds, a column a client (or a set of clients, or an example)."""

    auc: Floats  # [C] mean of both folds
    null_deviation: float  # of one fold: an upper limit for the mean of two, which are not independent
    unlearned: Floats  # [N, C] scores of world 1, each by the other fold's fit
    oracle: Floats  # [M, C] scores of world 0
    enough: bool  # whether both worlds have the advised number of models

    def low_rates(self, column: int | None = None) -> dict[float, LowRate]:
        """Hits at 1% and 0.1% false alarms with their counts, of one column, or of all under one threshold."""
        chosen = slice(None) if column is None else column
        return {rate: low_rate(self.unlearned[:, chosen], self.oracle[:, chosen], rate) for rate in LOW_RATES}


def u_lira(unlearned: ArrayLike, oracles: ArrayLike, unlearned_seeds: ArrayLike, oracle_seeds: ArrayLike) -> ULira:
    """The attack on statistics [N, C] and [M, C], or [N, C, K] and [M, C, K], of models with these seeds."""
    one, two = samples("u_lira", unlearned, oracles)
    parts = folds(unlearned_seeds, oracle_seeds)
    sizes = [min(int(part.sum()), int((~part).sum())) for part in parts]  # models of a world in its smaller fold
    require_models("u_lira", *(2 * size for size in sizes))
    scores = cross_fitted(one, two, *parts)
    enough = enough_models("u_lira", len(one), len(two))
    return ULira(_fold_auc(scores, parts), auc_null_deviation(*sizes), scores[0], scores[1], enough)


def u_lira_test(
    unlearned: ArrayLike,
    oracles: ArrayLike,
    unlearned_seeds: ArrayLike,
    oracle_seeds: ArrayLike,
    draws: int = 199,
    *,
    paired: bool = False,
    pooled: bool = False,
    key: int = 0,
) -> Permuted:
    """AUC with its permutation p-value: worlds are permuted within folds, and Gaussians fitted anew each time.

    `pooled`: of the mean AUC over clients, one test of all of them.
    """
    one, two = samples("u_lira", unlearned, oracles)
    both, part = np.concatenate([one, two]), np.concatenate(folds(unlearned_seeds, oracle_seeds))
    own = np.arange(len(both)) < len(one)
    aucs = []
    for chosen in (own, *permuted_within_folds(unlearned_seeds, oracle_seeds, draws, paired=paired, key=key)):
        parts = part[chosen], part[~chosen]
        aucs.append(_fold_auc(cross_fitted(both[chosen], both[~chosen], *parts), parts))
    found = np.mean(aucs, axis=1) if pooled else np.stack(aucs)
    return judged(found[0], found[1:])


def cross_fitted(one: Floats, two: Floats, own: Flags, other: Flags) -> tuple[Floats, Floats]:
    """Scores of both worlds [N, C] and [M, C], each by Gaussians of the other fold; `own` [N], `other` [M]: folds."""
    scores = np.empty(one.shape[:2]), np.empty(two.shape[:2])
    for fold in (False, True):
        fitted = one[own == fold], two[other == fold]
        scores[0][own != fold] = log_ratio(*fitted, one[own != fold])
        scores[1][other != fold] = log_ratio(*fitted, two[other != fold])
    return scores


def _fold_auc(scores: tuple[Floats, Floats], parts: tuple[Flags, Flags]) -> Floats:
    """The mean of both folds' AUC: scores of one fit are compared with each other alone. [C]"""
    halves = [mann_whitney(scores[0][parts[0] == fold], scores[1][parts[1] == fold]) for fold in (False, True)]
    return np.asarray(np.mean(halves, axis=0))


def log_ratio(unlearned: Floats, oracles: Floats, at: Floats) -> Floats:
    """Log-likelihood ratio of two fitted Gaussians; [n, C(, K)], [m, C(, K)], points [q, C(, K)] -> [q, C]."""
    return _log_density(unlearned, at) - _log_density(oracles, at)


def _log_density(sample: Floats, at: Floats) -> Floats:
    """log N(at; mean, covariance of the sample) without its constant. [q, C]"""
    values, points = (array[..., None] if array.ndim == 2 else array for array in (sample, at))
    middle = values.mean(0)  # [C, K]
    centred = values - middle
    covariance = np.einsum("nck,ncl->ckl", centred, centred) / (len(values) - 1)
    scale = np.trace(covariance, axis1=1, axis2=2) / covariance.shape[-1]  # [C]
    covariance += (_RIDGE * scale + 1e-300)[:, None, None] * np.eye(covariance.shape[-1])
    _, volume = np.linalg.slogdet(covariance)  # [C]
    away = points - middle  # [q, C, K]
    distance = np.einsum("qck,ckl,qcl->qc", away, np.linalg.inv(covariance), away)
    return -0.5 * (distance + volume)


def pair(before: ArrayLike, after: ArrayLike) -> Floats:
    """The statistic of an attacker who sees both models of a request: [N, C] and [N, C] -> [N, C, 2]."""
    return np.stack([np.asarray(before, np.float64), np.asarray(after, np.float64)], axis=-1)
