"""One step of a local optimiser on rows of flat weights, as a pure function."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sifu.config.optimiser import Adaptive, Optimiser, Sgd
from sifu.federation.local.sgd import clip_factor


class State(NamedTuple):
    """What an optimiser remembers of its steps: velocity, or the averages m and v. [q, P] each"""

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
    return _adaptive(optimiser, number, weights, state, gradient, gradient if curvature is None else curvature)


def _sgd(optimiser: Sgd, weights: Tensor, state: State, gradient: Tensor) -> tuple[Tensor, State]:
    if optimiser.weight_decay:
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
