"""The Gaussian mechanism: how large a sensitivity noise hides, by the textbook formula and exactly.

Everything depends on the ratio of sensitivity to noise, Psi / sigma. The textbook formula is a theorem for epsilon < 1
only: at epsilon = 10 it promises delta = 0.01 where the real delta is 0.0406. Valid for epsilon from 0.001 and delta
from 1e-12, which the settings enforce: far below, differences of near-equal numbers lose their digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor


def delta_at(epsilon: float | Tensor, ratio: Tensor) -> Tensor:
    """The exact delta of Gaussian noise at `epsilon` (Balle and Wang 2018, theorem 8), for Psi / sigma = `ratio`."""
    safe = ratio.double().clamp(min=1e-300)
    log_hit = torch.special.log_ndtr(safe / 2 - epsilon / safe)
    log_miss = epsilon + torch.special.log_ndtr(-safe / 2 - epsilon / safe)
    delta = log_hit.exp() * -torch.expm1(
        (log_miss - log_hit).clamp(max=0.0)
    )  # avoids a difference of near-equal numbers
    return torch.where(ratio <= 0, 0.0, torch.where(ratio.isinf(), 1.0, delta))


def epsilon_at(delta: float, ratio: Tensor) -> Tensor:
    """The exact epsilon at `delta`, for Psi / sigma = `ratio`; infinite if there is none."""
    ratio = ratio.double()
    at_most = ratio**2 / 2 + ratio * math.sqrt(2 * math.log(1 / delta))  # from the tail bound of the privacy loss
    high = at_most.nan_to_num(posinf=0.0)
    epsilon = _bisect(lambda epsilon: delta_at(epsilon, ratio) > delta, torch.zeros_like(ratio), high)
    return torch.where(at_most.isinf(), torch.inf, torch.where(delta_at(0.0, ratio) <= delta, 0.0, epsilon))


@cache
def largest_ratio(epsilon: float, delta: float, mechanism: str) -> float:
    """The largest Psi / sigma that is (epsilon, delta)-safe, by the `classical` formula or exactly (`analytic`)."""
    classical = epsilon / math.sqrt(2 * math.log(1.25 / delta))  # equation 9 of the paper
    if mechanism == "classical":
        return classical
    low, high = torch.zeros(1, dtype=torch.float64), torch.tensor([math.sqrt(2 * epsilon) + 80.0], dtype=torch.float64)
    return float(_bisect(lambda ratio: delta_at(epsilon, ratio) <= delta, low, high))


def _bisect(is_below: Callable[[Tensor], Tensor], low: Tensor, high: Tensor) -> Tensor:
    """The point between `low` and `high` where `is_below` turns false, by 200 bisections or until nothing moves."""
    for _ in range(200):
        before, middle = (low, high), (low + high) / 2
        below = is_below(middle)
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
        if torch.equal(low, before[0]) and torch.equal(high, before[1]):
            break
    return low
