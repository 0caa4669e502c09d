"""Relearn time: how soon forgotten clients are known again when they rejoin, over the same for Scratch.

The anamnesis index of Chundawat et al. (2023), in client steps until their accuracy is close to the original's: 1 is
ideal, below 1 something was left in the model. It is the ratio of mean steps over the seeds in which both got there,
with a bootstrap interval over seeds. Ratios seed by seed would favour the seeds in which Scratch was quick, and leave
out those in which it knew the clients at once: their mean is not 1 where a method is as good as Scratch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sifu.errors import SifuError
from sifu.forgetting.bootstrap import seed_interval
from sifu.forgetting.sample import Floats, require_models

CLOSE = 0.05  # accuracy below the original's at which clients are known again


@dataclass(frozen=True)
class RelearnTime:
    """The ratio to Scratch and its interval over `seeds` seeds."""

    ratio: float  # NaN where Scratch took no step in any seed
    low: float
    high: float
    seeds: int
    left_out: int  # seeds in which one of the two did not get there
    bound: str  # ">=": the method did not get there in more of the seeds than Scratch; "<=": in fewer; "=": in as many


def relearn_time(
    steps: ArrayLike, scratch_steps: ArrayLike, reached: ArrayLike, scratch_reached: ArrayLike, seeds: ArrayLike
) -> RelearnTime:
    """From client steps [S] of a method's and of Scratch's models; `reached` [S] bool: within the rounds allowed."""
    own, scratch = np.asarray(steps, np.float64), np.asarray(scratch_steps, np.float64)
    met, scratch_met = np.asarray(reached, bool), np.asarray(scratch_reached, bool)
    if not own.shape == scratch.shape == met.shape == scratch_met.shape == np.shape(seeds) or own.ndim != 1:
        raise SifuError("relearn time needs a number a seed, of the method and of Scratch for the same seeds")
    both = met & scratch_met
    require_models("relearning", int(both.sum()))
    own, scratch = own[both], scratch[both]
    low, high = seed_interval(lambda rows: _ratio(own[rows], scratch[rows]), np.asarray(seeds)[both])
    missed = int((~met).sum()) - int((~scratch_met).sum())
    bound = "=" if missed == 0 else ">=" if missed > 0 else "<="
    return RelearnTime(_ratio(own, scratch), low, high, len(own), int((~both).sum()), bound)


def _ratio(steps: Floats, scratch: Floats) -> float:
    """Mean steps over Scratch's mean; NaN where Scratch took none."""
    return float(steps.mean() / scratch.mean()) if scratch.any() else np.nan
