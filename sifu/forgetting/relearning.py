"""Relearn time: how soon forgotten clients are known again when they rejoin, over the same for Scratch.

The anamnesis index of Chundawat et al. (2023), in client steps until their accuracy is close to the original's: 1 is
ideal, below 1 something was left in the model. Ratios are formed seed by seed, then averaged, with a bootstrap interval
over seeds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sifu.errors import SifuError
from sifu.forgetting.bootstrap import seed_interval
from sifu.forgetting.sample import require_models

CLOSE = 0.05  # accuracy below the original's at which clients are known again


@dataclass(frozen=True)
class RelearnTime:
    """The mean ratio to Scratch and its interval over `seeds` seeds."""

    ratio: float
    low: float
    high: float
    seeds: int
    left_out: int  # seeds without a ratio: Scratch knew the clients at once, or did not get there
    lower_bound: bool  # in some seed the method did not get there: the ratio is at least this


def relearn_time(
    steps: ArrayLike, scratch_steps: ArrayLike, reached: ArrayLike, scratch_reached: ArrayLike, seeds: ArrayLike
) -> RelearnTime:
    """From client steps [S] of a method's and of Scratch's models; `reached` [S] bool: within the rounds allowed."""
    own, scratch = np.asarray(steps, np.float64), np.asarray(scratch_steps, np.float64)
    met, scratch_met = np.asarray(reached, bool), np.asarray(scratch_reached, bool)
    if not own.shape == scratch.shape == met.shape == scratch_met.shape == np.shape(seeds) or own.ndim != 1:
        raise SifuError("relearn time needs a number a seed, of the method and of Scratch for the same seeds")
    usable = scratch_met & (scratch > 0)
    require_models("relearning", int(usable.sum()))
    ratios = own[usable] / scratch[usable]
    low, high = seed_interval(lambda rows: float(ratios[rows].mean()), np.asarray(seeds)[usable])
    left_out = int((~usable).sum())
    return RelearnTime(float(ratios.mean()), low, high, len(ratios), left_out, bool((~met[usable]).any()))
