"""Distances between models of two worlds, point by point: margins, or predictions, [N, P] and [M, P] -> [P].

Each is for `against_null` (sifu/forgetting/klom.py), which sets it next to the same between models that do not differ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, expit

from sifu.forgetting.sample import Floats, samples


def disagreement(unlearned: ArrayLike, oracles: ArrayLike) -> Floats:
    """How often a model of each world say different classes, of predictions [N, P] and [M, P]. [P]"""
    one, two = samples("disagreement", unlearned, oracles)
    classes = np.union1d(one, two)
    shares = ([(world == name).mean(0) for name in classes] for world in (one, two))
    return 1 - np.sum([own * other for own, other in zip(*shares, strict=True)], axis=0)


def jensen_shannon(unlearned: ArrayLike, oracles: ArrayLike) -> Floats:
    """The mean Jensen-Shannon distance (base 2, 0 to 1) of the right class's probability against the rest, over pairs
    of a model of each world: as many as the smaller world has, in the order of their margins' rows. [P]
    """
    one, two = samples("auc", unlearned, oracles)
    count = min(len(one), len(two))
    p, q = (expit(world[:count]) for world in (one, two))
    divergence = _entropy((p + q) / 2) - (_entropy(p) + _entropy(q)) / 2
    return np.sqrt(np.maximum(divergence, 0.0)).mean(0)


def margin_drop(unlearned: ArrayLike, oracles: ArrayLike) -> Floats:
    """By how much the mean margin is lower than the oracles'. [P]"""
    one, two = samples("auc", unlearned, oracles)
    return two.mean(0) - one.mean(0)


def _entropy(p: Floats) -> Floats:
    """Bits of a coin that falls on one side with probability p."""
    return (entr(p) + entr(1 - p)) / np.log(2)
