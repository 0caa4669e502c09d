"""Seeds of two worlds: folds for cross-fitting, and permutations of the worlds.

A method starts from a training and Scratch from the same initial model, so models of one seed belong together. All
functions use the seeds' numbers alone: the order in which models come, or their blocks, changes nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sifu.errors import SifuError
from sifu.forgetting.sample import Flags, Ints, require_models


def folds(first: ArrayLike, second: ArrayLike) -> tuple[Flags, Flags]:
    """Two folds of seeds, every other one: a seed of both worlds is in the same fold of both. [N] and [M] bool"""
    one, two = _distinct(first), _distinct(second)
    shared, only_first, only_second = np.intersect1d(one, two), np.setdiff1d(one, two), np.setdiff1d(two, one)
    upper = np.concatenate([shared[::2], only_first[::2], only_second[::2]])
    return np.isin(one, upper), np.isin(two, upper)


def permuted_worlds(first: ArrayLike, second: ArrayLike, draws: int, *, paired: bool, key: int = 0) -> Flags:
    """Which of all models (the first world's, then the second's) are called the first world. [draws, N + M] bool

    Not paired: any N of them. Paired: of every seed one of its two models, by a coin (both worlds have its seeds).
    """
    one, two = _distinct(first), _distinct(second)
    require_models("permutation", len(one), len(two))
    random = np.random.default_rng([key, paired])
    if paired:
        return _swapped(one, two, random.random((draws, len(one))) < 0.5)
    order = np.lexsort((np.repeat([0, 1], [len(one), len(two)]), np.concatenate([one, two])))
    chosen = np.zeros((draws, len(order)), bool)
    chosen[:, : len(one)] = True
    found = np.empty_like(chosen)
    found[:, order] = random.permuted(chosen, axis=1)
    return found


def permuted_within_folds(first: ArrayLike, second: ArrayLike, draws: int, *, paired: bool, key: int = 0) -> Flags:
    """As `permuted_worlds`, fold by fold: every world keeps its number of models in each. [draws, N + M] bool"""
    numbers, parts = (_distinct(first), _distinct(second)), folds(first, second)
    found = np.empty((draws, sum(map(len, numbers))), bool)
    for fold in (False, True):
        own, other = (seeds[part == fold] for seeds, part in zip(numbers, parts, strict=True))
        places = np.concatenate(parts) == fold
        found[:, places] = permuted_worlds(own, other, draws, paired=paired, key=2 * key + fold)
    return found


def _swapped(one: Ints, two: Ints, swaps: Flags) -> Flags:
    """Pairs of seeds with their worlds swapped where `swaps` [draws, seeds in order] says so."""
    if set(one.tolist()) != set(two.tolist()):
        odd = len(set(one.tolist()) ^ set(two.tolist()))
        raise SifuError(f"a paired permutation needs the same seeds in both worlds, and {odd} are in one alone")
    ranks = [np.argsort(np.argsort(seeds)) for seeds in (one, two)]
    return np.concatenate([~swaps[:, ranks[0]], swaps[:, ranks[1]]], axis=1)


def _distinct(seeds: ArrayLike) -> Ints:
    found = np.asarray(seeds, np.int64)
    if len(np.unique(found)) != len(found):
        raise SifuError("a world has a model a seed, and here a seed comes twice")
    return found
