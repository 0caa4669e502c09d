"""Many p-values: which of them stand when there are many."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control

from sifu.errors import SifuError
from sifu.forgetting.sample import Floats


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Adjusted p-values: calling all at most q different, a share q of the calls is false at most (1995).

    Under no dependence, or a positive one, as clients have that are seen by the same models.
    """
    values = np.asarray(p_values, np.float64).ravel()
    if not len(values) or not ((values >= 0) & (values <= 1)).all():
        raise SifuError("p-values lie between 0 and 1, and there must be one at least")
    return np.asarray(false_discovery_control(values, method="bh"))
