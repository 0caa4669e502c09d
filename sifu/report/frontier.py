"""The honest frontier: what unlearning costs with a certificate that survives, and the epsilon that it really has."""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from sifu.report.bounds import SMALL
from sifu.report.columns import numbers
from sifu.report.judged_promises import judged_promises
from sifu.report.privacy_points import POINTS, ROUNDING
from sifu.report.statistics import REFERENCE, paid_steps
from sifu.store.report_schemas import FRONTIER

DELTA = 1e-2  # at which epsilon is given
_LEVEL = 0.95
ITS_OWN = "its own"  # noise of a variant as it is, not of a sweep
_NO_SCRATCH: tuple[set[object], pd.Series] = (set(), pd.Series(dtype=float))
AT_DELTA = "epsilon at delta = 1e-2"  # the point that has columns of its own
_COUNTED = {"request": "strict_psi", "client": "single_psi", "measured": "alpha"}  # promise -> of whom it holds


class Worth(NamedTuple):
    """What a certificate is worth: the largest epsilon of any seed and request at DELTA; NaN where it is not known."""

    promise: str  # request (all of its clients together) | measured (the same, though B = 1 is refuted) | client | ...
    epsilon: float  # for all clients of a request together
    epsilon_client: float  # for the worst of them alone
    epsilon_everyone: float  # for all clients that were forgotten so far
    epsilon_measured: float  # of the request, from the distance that was measured
    epsilon_5: float = math.nan  # at delta = 1e-5, for those for whom it holds, as the next two
    delta_1: float = math.nan  # at epsilon = 1
    delta_10: float = math.nan


def frontier(cells: pd.DataFrame, sweep: pd.DataFrame, refuted: Collection[str] = ()) -> pd.DataFrame:
    """Cost and worth of every certificate, of variants as they are and of those of the sigma sweep: table `frontier`.

    A sweep counts where it answered all of the scenario's requests. Where one answer refutes B, of any variant and
    under any sigma, or a training without clients does (`refuted`: those scenarios), no Psi of the scenario counts:
    they all assume the same B.
    """
    cells = cells[cells["stop"] == "target"]
    scratch = {
        str(scenario): (set(rows["request"]), _totals(rows))
        for scenario, rows in cells[cells["variant"] == REFERENCE].groupby("scenario")
    }
    refuted = _refuted_in(cells) | _refuted_in(sweep) | set(refuted)
    rows = []
    for (scenario, variant), own in _promised(cells).groupby(["scenario", "variant"]):
        key = _Key(str(scenario), str(variant), None)
        _, reference = scratch.get(key.scenario, _NO_SCRATCH)
        rows.append(_row(own, reference, key, refuted=key.scenario in refuted))
    for (scenario, variant, sigma), own in _promised(sweep).groupby(["scenario", "variant", "sigma"]):
        key = _Key(str(scenario), str(variant), float(str(sigma)))
        requests, reference = scratch.get(key.scenario, _NO_SCRATCH)
        if set(own["request"]) == requests:
            rows.append(_row(own, reference, key, refuted=key.scenario in refuted))
    found = [row for row in rows if row is not None]
    return pd.DataFrame(found, columns=[column.name for column in FRONTIER.columns])


def _promised(rows: pd.DataFrame) -> pd.DataFrame:
    """All rows of the variants that promise anything in any of theirs."""
    claimed = numbers(rows, "claimed_delta").notna()
    return rows[claimed.groupby([rows["scenario"], rows["variant"]]).transform("any").astype(bool)]


def _refuted_in(rows: pd.DataFrame) -> set[str]:
    """The scenarios of which an answer was measured beyond its Psi."""
    return set(rows.loc[_beyond(rows), "scenario"].astype(str)) if {"alpha", "strict_psi"} <= set(rows) else set()


class _Key(NamedTuple):
    scenario: str
    variant: str
    sigma: float | None  # of a sweep; None: the variant as it is


def _row(own: pd.DataFrame, scratch: pd.Series, key: _Key, *, refuted: bool) -> dict[str, Any] | None:
    """A row of the table; None where nothing is promised."""
    promised = judged_promises(own).dropna(subset="claimed_delta")
    if promised.empty:
        return None
    costs = _costs(own, scratch)
    low, high = _interval(costs)
    mean = float(costs.mean()) if len(costs) else math.nan
    return (
        {"scenario": key.scenario, "variant": key.variant, "sigma": key.sigma}
        | {"noise": ITS_OWN if key.sigma is None else f"{key.sigma:g}"}
        | {"claimed_epsilon": promised["claimed_epsilon"].max(), "claimed_delta": promised["claimed_delta"].max()}
        | worth(promised, refuted=refuted)._asdict()
        | {"cost": mean, "cost_low": low, "cost_high": high}
        | {"seeds": own["seed"].nunique(), "compared": len(costs)}
    )


def _costs(own: pd.DataFrame, scratch: pd.Series) -> NDArray[np.float64]:
    """Paid steps of all requests over `scratch`'s, for each seed in which both reached every target."""
    return (_totals(own) / scratch).dropna().to_numpy(float)


def _totals(rows: pd.DataFrame) -> pd.Series:
    """Paid steps of all requests, of each seed that reached every target."""
    done = (rows["status"] == "done").groupby(rows["seed"]).all()
    return paid_steps(rows).groupby(rows["seed"]).sum()[done]


def _interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """The t interval of a mean; NaN for fewer than two values."""
    if len(values) < 2:
        return math.nan, math.nan
    half = float(stats.t.ppf((1 + _LEVEL) / 2, len(values) - 1) * stats.sem(values))
    return float(values.mean()) - half, float(values.mean()) + half


def worth(rows: pd.DataFrame, *, refuted: bool = False) -> Worth:
    """What the certificates of a variant's answers are worth, the worst of them. `refuted`: something else that was
    measured in the scenario refutes the B that every Psi assumes; then what was measured of the request alone is left,
    which says nothing of all who were forgotten so far.
    """
    if numbers(rows, "spent_epsilon").notna().all():
        return _spent(rows)
    if numbers(rows, "single_psi").isna().any():  # rows from before refilled seats were counted
        return Worth("unknown", math.nan, math.nan, math.nan, math.nan)
    measured = rows[numbers(rows, "alpha").notna()]
    request = _hidden(rows, rows["strict_psi"]) and _hidden(measured, numbers(measured, "alpha"))
    client = _hidden(rows, rows["single_psi"])
    alpha = _epsilon(rows, numbers(rows, "alpha"))
    if (refuted and _needs_contraction(rows)) or _beyond(measured).any():  # then no Psi says anything
        known = request and len(measured) == len(rows)
        promise = "none" if not known else "unknown" if _for_everyone(rows) else "measured"
        return Worth(promise, math.nan, math.nan, math.nan, alpha, *_points(rows, promise))
    promise = "request" if request else "client" if client else "none"
    strict, single, everyone = (_epsilon(rows, rows[name]) for name in ("strict_psi", "single_psi", "everyone_psi"))
    return Worth(promise, strict, single, everyone, alpha, *_points(rows, promise))


def _points(rows: pd.DataFrame, promise: str) -> list[float]:
    """Epsilon at delta = 1e-5, and delta at epsilon = 1 and 10, the largest of any seed and request, of those for whom
    a certificate holds; nothing where it holds for nobody.
    """
    if promise not in _COUNTED:
        return []
    ratio = _ratio(rows, numbers(rows, _COUNTED[promise]))
    return [_worst(point, ratio) for point in POINTS if point != AT_DELTA]


def _needs_contraction(rows: pd.DataFrame) -> bool:
    """Whether a Psi assumes B: every one does, but that of a start from nothing, which is 0."""
    return bool((rows[["strict_psi", "single_psi", "everyone_psi"]] > 0).any(axis=None))


def _for_everyone(rows: pd.DataFrame) -> bool:
    """Whether the certificate is about all who were forgotten so far, and there is more than one request."""
    if "covers_everyone" not in rows:
        return False
    return bool(rows["covers_everyone"].eq(True).any()) and rows["request"].nunique() > 1


def _beyond(rows: pd.DataFrame) -> pd.Series:
    """Where a distance was measured that is larger than its bound by more than rounding."""
    return numbers(rows, "alpha") > rows["strict_psi"] * (1 + ROUNDING) + SMALL


def _spent(rows: pd.DataFrame) -> Worth:
    """Noise in every round: what an accountant says, at the claimed delta; nothing has to be assumed on the loss.

    The promise is judged at its own delta. Its epsilons are those at DELTA only where that is the claimed one.
    """
    claimed, one, group = (rows[name] for name in ("claimed_epsilon", "spent_epsilon", "group_epsilon"))
    kept = {"request": (group <= claimed * (1 + ROUNDING)).all(), "client": (one <= claimed * (1 + ROUNDING)).all()}
    promise = next((name for name, holds in kept.items() if holds), "none")
    comparable = bool(np.isclose(rows["claimed_delta"].to_numpy(float), DELTA, rtol=ROUNDING, atol=0).all())
    of_group, of_one = (float(epsilon.max()) if comparable else math.nan for epsilon in (group, one))
    return Worth(promise, of_group, of_one, of_group, math.nan)


def _hidden(rows: pd.DataFrame, psi: pd.Series) -> bool:
    """Whether the noise hides the distances `psi` as well as is claimed, in every seed and request."""
    import torch  # not at the top: most of the report needs none

    from sifu.certificate.gaussian import delta_at

    claimed = torch.tensor(rows["claimed_epsilon"].to_numpy(float))
    delta = delta_at(claimed, torch.from_numpy(_ratio(rows, psi))).numpy()
    return bool((delta <= rows["claimed_delta"].to_numpy(float) * (1 + ROUNDING)).all())


def _epsilon(rows: pd.DataFrame, psi: pd.Series) -> float:
    """The largest epsilon at DELTA of noise on the distances `psi`; NaN where one of them is not known."""
    return math.nan if psi.isna().any() else _worst(AT_DELTA, _ratio(rows, psi))


def _worst(point: str, ratios: NDArray[np.float64]) -> float:
    """The value at one of POINTS of the largest ratio, as both epsilon and delta grow with it."""
    return _value(point, float(ratios.max()))


@cache
def _value(point: str, ratio: float) -> float:
    """One of POINTS: a report asks for the same ones many times."""
    return float(POINTS[point].of(np.array([ratio]))[0])


def _ratio(rows: pd.DataFrame, psi: pd.Series) -> NDArray[np.float64]:
    """Distance over noise; a distance of zero needs no noise, one that is not a number is hidden by none."""
    distance, sigma = psi.to_numpy(float), rows["sigma"].to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(distance == 0, 0.0, distance / sigma)
    return np.where(np.isnan(ratio), np.inf, ratio)
