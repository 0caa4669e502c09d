"""What a ratio of sensitivity to noise means, at points that a privacy engineer can read."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sifu.report.columns import numbers

Numbers = NDArray[np.float64]
ROUNDING = 1e-6  # of a claim, relative: a cut may lie at the limit itself


class Point(NamedTuple):
    """Epsilon at a delta, or delta at an epsilon."""

    kind: str  # epsilon | delta: which of the two is asked for
    at: float  # the other one

    def of(self, ratios: Numbers) -> Numbers:
        """The exact value for Gaussian noise at each Psi / sigma; nan stays nan. [n]"""
        import torch  # not at the top: figures need none of it

        from sifu.certificate.gaussian import delta_at, epsilon_at

        if self.kind == "epsilon" and self.at == 0:  # noise alone is never that good
            return np.where(ratios > 0, math.inf, ratios)
        values = torch.from_numpy(np.nan_to_num(ratios, nan=0.0, posinf=math.inf))
        found = epsilon_at(self.at, values) if self.kind == "epsilon" else delta_at(self.at, values)
        return np.where(np.isnan(ratios), np.nan, found.numpy())

    def of_claim(self, epsilon: float, delta: float) -> float:
        """What a claim says here, whatever noise it is of: nan unless this is the claim's own point."""
        at, value = (delta, epsilon) if self.kind == "epsilon" else (epsilon, delta)
        return value if math.isclose(at, self.at, rel_tol=ROUNDING) else math.nan


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


def promised_psi(rows: pd.DataFrame) -> pd.Series:
    """The sensitivity that each promise is about: to all clients forgotten so far where it covers everyone, to the
    worst client of the request where it covers each of them alone, else to the request's clients together.
    """
    single, request, everyone = (numbers(rows, name) for name in ("single_psi", "strict_psi", "everyone_psi"))
    covers_all = rows["covers_everyone"].eq(True) if "covers_everyone" in rows else pd.Series(False, rows.index)
    return request.mask(numbers(rows, "covers") == 1, single).mask(covers_all, everyone)


def at_claim(rows: pd.DataFrame, of: str, *, together: bool = False) -> pd.Series:
    """The delta at the claimed epsilon, or the epsilon at the claimed delta (`of`), for whom each promise is made.

    `together`: for all clients of the request, whomever it is made for. Of noise that is added once; an accountant says
    what noise in every round spends (`spent_epsilon`).
    """
    if together:
        return numbers(rows, f"actual_{of}")
    ratio = psi_over_sigma(promised_psi(rows), rows["sigma"]).to_numpy(float)
    claim = numbers(rows, "claimed_epsilon" if of == "delta" else "claimed_delta").to_numpy(float)
    found = np.full(len(rows), math.nan)
    for at in np.unique(claim[~np.isnan(claim)]):
        found[claim == at] = Point(of, float(at)).of(ratio[claim == at])
    return pd.Series(found, rows.index)


def claimed_ratio(epsilon: float, delta: float) -> float:
    """The largest Psi / sigma that keeps a promise, exactly; 0 for a promise that nothing is left; nan without one."""
    from sifu.certificate.gaussian import largest_ratio

    if math.isnan(epsilon) or math.isnan(delta):
        return math.nan
    return largest_ratio(epsilon, delta, "analytic") if epsilon > 0 and delta > 0 else 0.0
