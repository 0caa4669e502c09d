"""How differently two models answer: the share of other labels, and the distance of their probabilities.

Two perfect retrainings disagree, too, so that the same between Scratch of two seeds stands next to every value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax, logsumexp

from sifu.errors import SifuError
from sifu.forgetting.sample import Floats


def disagreement(first: ArrayLike, second: ArrayLike) -> Floats:
    """The share of points to which two models give different labels; logits [..., P, classes] -> [...]."""
    one, two = _alike(first, second)
    return np.asarray((one.argmax(-1) != two.argmax(-1)).mean(-1))


def jensen_shannon_distance(first: ArrayLike, second: ArrayLike) -> Floats:
    """sqrt of JS in bits, (KL(p || m) + KL(q || m)) / 2 with m = (p + q) / 2 (Lin 1991; Endres and Schindelin 2003),
    averaged over points: 0 for equal answers, 1 for certain and different ones; logits [..., P, classes] -> [...].
    """
    p, q = (log_softmax(logits, axis=-1) for logits in _alike(first, second))
    middle = logsumexp(np.stack([p, q]), axis=0) - np.log(2)
    divergence = sum((np.exp(own) * (own - middle)).sum(-1) for own in (p, q)) / (2 * np.log(2))  # [..., P]
    return np.asarray(np.sqrt(np.maximum(divergence, 0.0)).mean(-1))


def neighbours(seeds: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For every seed [S] the row of the next larger one (the last: the first): whom Scratch is compared with. [S]"""
    numbers = np.asarray(seeds)
    if len(numbers) < 2:
        raise SifuError("two retrainings are compared, and there is one seed; train more seeds")
    order = np.argsort(numbers)
    found = np.empty(len(numbers), np.int64)
    found[order] = np.roll(order, -1)
    return found


def _alike(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    one, two = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if one.shape != two.shape or one.ndim < 2:
        raise SifuError(f"two models answer the same points in the same classes, not {one.shape} and {two.shape}")
    return one, two
