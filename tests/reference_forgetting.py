"""The readable version of what tells models apart: one margin, one pair, one threshold after another."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sifu.forgetting.permutation import Permuted, judged
from sifu.forgetting.sample import Flags, Floats


def margin(logits: list[float], label: int) -> float:
    """log p / (1 - p) of the right label, by probabilities."""
    exponentials = [math.exp(value) for value in logits]
    p = exponentials[label] / sum(exponentials)
    return math.log(p / (1 - p))


def auc(first: list[float], second: list[float]) -> float:
    """Pairs that are in order, ties counted half."""
    pairs = [(a > b) + (a == b) / 2 for a in first for b in second]
    return sum(pairs) / len(pairs)


def klom(unlearned: list[float], oracles: list[float], drop: bool = False) -> float:
    """KL of two histograms of one point's margins; `drop`: without the largest, as the released codes."""
    worlds = [[min(100.0, max(-100.0, value)) for value in world] for world in (unlearned, oracles)]
    low, high = min(map(min, worlds)), max(map(max, worlds))
    shares = []
    for world in worlds:
        kept = [value for value in world if not (drop and value == high)]
        places = [min(19, int((value - low) / (high - low or 1.0) * 20)) for value in kept]
        shares.append([places.count(place) / len(kept) for place in range(20)])
    return sum(p * math.log(p / max(q, 1e-5)) for p, q in zip(*shares, strict=True) if p > 0)


def neurips_epsilon(unlearned: list[float], oracles: list[float]) -> float:
    """The largest epsilon of one example over thresholds on its margin: models above are called unlearned."""
    largest = 0.0
    for threshold in {*unlearned, *oracles}:
        miss = sum(value <= threshold for value in unlearned) / len(unlearned)
        alarm = sum(value > threshold for value in oracles) / len(oracles)
        if miss == 0 and alarm == 0:
            return math.inf
        if miss == 0 or alarm == 0:
            continue
        for hit, rate in ((0.99 - alarm, miss), (0.99 - miss, alarm)):
            largest = max(largest, math.log(hit / rate) if hit > 0 else 0.0)
    return largest


def cross_fitted(one: list[float], two: list[float], own: list[bool], other: list[bool]) -> list[list[float]]:
    """Log-likelihood ratios of two Gaussians, each model by the fit of the other fold."""

    def gaussian(sample: list[float]) -> tuple[float, float]:
        mean = sum(sample) / len(sample)
        return mean, sum((value - mean) ** 2 for value in sample) / (len(sample) - 1)

    def density(value: float, mean: float, variance: float) -> float:
        return -0.5 * ((value - mean) ** 2 / variance + math.log(variance))

    scores: list[list[float]] = [[], []]
    for place, (world, folds) in enumerate(((one, own), (two, other))):
        for value, fold in zip(world, folds, strict=True):
            fits = [
                gaussian([x for x, f in zip(sample, parts, strict=True) if f != fold])
                for sample, parts in ((one, own), (two, other))
            ]
            scores[place].append(density(value, *fits[0]) - density(value, *fits[1]))
    return scores


def jensen_shannon(unlearned: list[float], oracles: list[float]) -> float:
    """The mean distance over pairs of models, in order, of the right class's probability against the rest."""

    def bits(p: float) -> float:
        return -sum(share * math.log2(share) for share in (p, 1 - p) if share > 0)

    distances = []
    for first, second in zip(unlearned, oracles, strict=False):
        p, q = (1 / (1 + math.exp(-margin)) for margin in (first, second))
        divergence = bits((p + q) / 2) - (bits(p) + bits(q)) / 2
        distances.append(math.sqrt(max(0.0, divergence)))
    return sum(distances) / len(distances)


def excess_disagreement(one: list[list[float]], two: list[list[float]]) -> float:
    """How often a model of each world say different sides of a half, less how often any two models do. Over all points
    and pairs.
    """

    def share(first: list[list[float]], second: list[list[float]]) -> float:
        pairs = [(a > 0) != (b > 0) for x in first for y in second for a, b in zip(x, y, strict=True)]
        return sum(pairs) / len(pairs)

    return share(one, two) - share(one + two, one + two)


def permutation_test(
    first: Floats, second: Floats, worlds: Flags, statistic: Callable[[Floats, Floats], Floats]
) -> Permuted:
    """Any statistic of worlds [N, ...] and [M, ...], one permutation of `worlds` [draws, N + M] after another."""
    both = np.concatenate([first, second])
    null = [statistic(both[chosen], both[~chosen]) for chosen in worlds]
    return judged(statistic(first, second), np.stack(null))
