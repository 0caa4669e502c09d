"""One step of a local optimiser on rows of flat weights, as a pure function."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from sifu.config.optimiser import Adaptive, Optimiser, Sgd, Svgd
from sifu.federation.local.sgd import clip_factor


class State(NamedTuple):
    """What an optimiser remembers: velocity, or the averages m and v; of SVGD also the start. [q, P] each"""

    first: Tensor
    second: Tensor


def begin(weights: Tensor) -> State:
    """Before the first step from `weights` [q, P]."""
    return State(torch.zeros_like(weights), torch.zeros_like(weights))


def take_step(
    optimiser: Optimiser, number: int, weights: Tensor, state: State, gradient: Tensor, curvature: Tensor | None
) -> tuple[Tensor, State]:
    """Step `number` (from 1) from `weights` [q, P]; `curvature` [q, P] divides it, None: the gradient's own size."""
    if optimiser.clip is not None:
        gradient = gradient * clip_factor(gradient.norm(dim=-1, keepdim=True), optimiser.clip)
    if isinstance(optimiser, Sgd):
        return _sgd(optimiser, weights, state, gradient)
    if isinstance(optimiser, Svgd):
        anchor = weights if number == 1 else state.second
        return _sgd(optimiser, weights, State(state.first, anchor), _stein(optimiser, weights, anchor, gradient))
    return _adaptive(optimiser, number, weights, state, gradient, gradient if curvature is None else curvature)


def _sgd(optimiser: Sgd | Svgd, weights: Tensor, state: State, gradient: Tensor) -> tuple[Tensor, State]:
    if optimiser.weight_decay and isinstance(optimiser, Sgd):
        gradient = gradient.add(weights, alpha=optimiser.weight_decay)
    velocity = (state.first * optimiser.momentum).add(gradient)
    return weights.add(velocity, alpha=-optimiser.lr), State(velocity, state.second)


def _adaptive(
    optimiser: Adaptive, number: int, weights: Tensor, state: State, gradient: Tensor, curvature: Tensor
) -> tuple[Tensor, State]:
    beta1, beta2 = optimiser.beta1, optimiser.beta2
    m = beta1 * state.first + (1 - beta1) * gradient
    v = beta2 * state.second + (1 - beta2) * curvature * curvature
    size = (v / (1 - beta2**number)).sqrt() + optimiser.damping  # both averages start at zero: they are too small
    return weights - optimiser.lr * (m / (1 - beta1**number)) / size, State(m, v)


def _stein(optimiser: Svgd, weights: Tensor, anchor: Tensor, gradient: Tensor) -> Tensor:
    """v of SVGD's step from `weights`; `anchor` are those at the start. [q, N P] each"""
    now, start, slope = (part.unflatten(1, (optimiser.particles, -1)) for part in (weights, anchor, gradient))
    apart = _squares(now, now)  # [q, N, N]
    width = _bandwidth(optimiser, apart)  # [q, 1, 1]
    pull = 2 * optimiser.temperature / width
    if optimiser.weight_decay:
        slope = slope + optimiser.weight_decay * now
    if optimiser.anchored:
        slope = slope + pull * (now - torch.softmax(-_squares(now, start) / width, dim=2) @ start)
    kernel = (-apart / width).exp()  # [q, N, N], symmetric
    away = kernel.sum(2, keepdim=True) * now - kernel @ now  # sum_j k (theta_n - theta_j)
    return (kernel @ slope - pull * away).flatten(1)


def _squares(one: Tensor, other: Tensor) -> Tensor:
    """Squared distances of all pairs. [q, N, P] each -> [q, N, N]"""
    return (one[:, :, None] - other[:, None]).square().sum(3)


def _bandwidth(optimiser: Svgd, apart: Tensor) -> Tensor:
    """h for squared distances `apart` [q, N, N]. [q, 1, 1]"""
    count = optimiser.particles
    if optimiser.bandwidth is not None or count == 1:
        return torch.full_like(apart[:, :1, :1], optimiser.bandwidth or 1.0)  # of one particle k is 1 in any case
    above = torch.triu_indices(count, count, 1, device=apart.device)
    pairs = apart[:, above[0], above[1]].sort(dim=1).values  # [q, pairs]
    middle = pairs[:, pairs.shape[1] // 2] / math.log(count)
    return middle.clamp(min=1e-30)[:, None, None]
