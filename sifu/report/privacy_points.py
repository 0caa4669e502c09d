"""What a ratio of sensitivity to noise means, at points that a privacy engineer can read."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


class Point(NamedTuple):
    """Epsilon at a delta, or delta at an epsilon."""

    kind: str  # epsilon | delta: which of the two is asked for
    at: float  # the other one

    def of(self, ratios: Numbers) -> Numbers:
        """The exact value for Gaussian noise at each Psi / sigma; nan stays nan. [n]"""
        import torch  # not at the top: figures need none of it

        from sifu.certificate.gaussian import delta_at, epsilon_at

        values = torch.from_numpy(np.nan_to_num(ratios, nan=0.0, posinf=math.inf))
        found = epsilon_at(self.at, values) if self.kind == "epsilon" else delta_at(self.at, values)
        return np.where(np.isnan(ratios), np.nan, found.numpy())


POINTS = {
    "epsilon at delta = 1e-2": Point("epsilon", 1e-2),
    "epsilon at delta = 1e-5": Point("epsilon", 1e-5),
    "delta at epsilon = 1": Point("delta", 1.0),
    "delta at epsilon = 10": Point("delta", 10.0),
}


def psi_over_sigma(psi: pd.Series, sigma: pd.Series) -> pd.Series:
    """The ratio that decides a guarantee; 0 where nothing has to be hidden, infinite without noise."""
    psi, sigma = psi.astype(float), sigma.astype(float)
    return (psi / sigma.mask(sigma == 0)).mask((sigma == 0) & psi.notna(), math.inf).mask(psi == 0, 0.0)


def claimed_ratio(epsilon: float, delta: float) -> float:
    """The largest Psi / sigma that keeps a promise, exactly; 0 for a promise that nothing is left; nan without one."""
    from sifu.certificate.gaussian import largest_ratio

    if math.isnan(epsilon) or math.isnan(delta):
        return math.nan
    return largest_ratio(epsilon, delta, "analytic") if epsilon > 0 and delta > 0 else 0.0
