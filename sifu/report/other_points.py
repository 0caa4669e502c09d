"""An epsilon of Gaussian noise at one delta, at the points that a privacy engineer can read."""

from __future__ import annotations

import math

import numpy as np

from sifu.report.privacy_points import POINTS


def at_points(epsilon: float | None, delta: float) -> list[str]:
    """Each of POINTS, as text, of noise that is added once; of noise in every round: `at_own_point`. Of an epsilon of 0
    the ratio of sensitivity to noise is only known to be small enough (`<=`); a delta of 0 is that of no noise, or of
    answers with nothing to hide: it says nothing of other points.
    """
    if epsilon is None or math.isnan(epsilon) or not 0 < delta < 1:
        return ["-"] * len(POINTS)
    ratios = np.array([_ratio(epsilon, delta)])
    bound = "<= " if epsilon == 0 else ""
    return [f"{bound}{point.of(ratios)[0]:.3g}" for point in POINTS.values()]


def at_own_point(epsilon: float, delta: float) -> list[str]:
    """The same of what an accountant says: it follows from no one ratio, and nothing is known of other points."""
    values = [point.of_claim(epsilon, delta) for point in POINTS.values()]
    return ["-" if math.isnan(value) else f"{value:.3g}" for value in values]


def _ratio(epsilon: float, delta: float) -> float:
    """The sensitivity over the noise that has this epsilon at `delta`."""
    from sifu.certificate.gaussian import largest_ratio  # not at the top: most of the report needs no torch

    return math.inf if math.isinf(epsilon) else largest_ratio(epsilon, delta, "analytic")
