"""Many p-values: one for all of them together, and which of them stand when there are many."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri
from scipy.stats import false_discovery_control

from sifu.errors import SifuError
from sifu.forgetting.sample import Floats


def stouffer(p_values: ArrayLike) -> float:
    """One p-value of independent ones: Phi(sum of Phi^-1(p) / sqrt(k)) (Stouffer et al. 1949).

    Of different federations. Clients of one federation are seen by the same models: `pooled_auc_test` is theirs.
    """
    values = _checked(p_values)
    return float(ndtr(ndtri(values.clip(1e-300, 1 - 1e-16)).sum() / math.sqrt(len(values))))


def benjamini_hochberg(p_values: ArrayLike, *, dependent: bool = False) -> Floats:
    """Adjusted p-values: calling all at most q different, a share q of the calls is false at most (1995).

    `dependent`: under any dependence (Benjamini and Yekutieli 2001); without, under none or a positive one.
    """
    return np.asarray(false_discovery_control(_checked(p_values), method="by" if dependent else "bh"))


def _checked(p_values: ArrayLike) -> Floats:
    values = np.asarray(p_values, np.float64).ravel()
    if not len(values) or not ((values >= 0) & (values <= 1)).all():
        raise SifuError("p-values lie between 0 and 1, and there must be one at least")
    return values
