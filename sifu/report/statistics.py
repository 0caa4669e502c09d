"""Numbers over seeds: mean, deviation, intervals, and rounds relative to scratch, seed by seed.

Shares of seeds have exact intervals (Clopper and Pearson). Other means have the percentile bootstrap's and, as that is
too narrow with few seeds, Student's next to it. Values that are not finite, or of one seed, have their range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sifu.core.intervals import LEVEL, clopper_pearson, student
from sifu.report.judged_promises import is_judged

_CELL = ["scenario", "variant", "stop", "request"]
_LONG = [*_CELL, "seed", "quantity", "subset", "value"]
_COSTS = ("rounds", "client_steps", "server_steps")
_OF_CERTIFICATES = (
    "sigma",
    "claimed_epsilon",
    "claimed_delta",
    "actual_epsilon",
    "actual_delta",
    "covers",
    "group",
    "spent_epsilon",
    "group_epsilon",
)
_COUNTED = ("actual_epsilon", "actual_delta", "spent_epsilon", "group_epsilon")  # those of them that replays find
_RESAMPLES, _AT_ONCE = 10_000, 64  # of a sample; samples at a time: memory
_DRAWS = 2**22  # of seeds, at a time: memory
_FEW = 32  # seeds
WITH_STUDENT = 10  # seeds: up to here Student's interval stands next to the bootstrap's
REFERENCE = "scratch"
SHARES = ("done", "refused", "no_cost")  # quantities that are 0 or 1 in a seed
FINISHED = ("done", "not_reached")  # cells whose cost means something; certificates: judged_promises.py
_RATIOS = ("rounds_to_scratch", "steps_to_scratch", "speed_up", "no_cost")


def long_form(cells: pd.DataFrame, metrics: pd.DataFrame) -> pd.DataFrame:
    """Every number of every seed, a row each: columns of `cells`, the ratio of rounds, metrics."""
    finished = cells[cells["status"].isin(FINISHED)]
    costs = [name for name in _COSTS if name != "server_steps" or name in finished]
    promising = _counted_in_all(cells)[cells["status"].isin(FINISHED) | is_judged(cells)]
    parts = ((finished, costs), (promising, _OF_CERTIFICATES))
    melted = [rows.melt([*_CELL, "seed"], list(names), var_name="quantity") for rows, names in parts]
    numbers = pd.concat(melted, ignore_index=True).assign(subset="")
    numbers = numbers[(numbers["quantity"] != "server_steps") | (numbers["value"] > 0)]  # most methods have none
    measured = metrics.rename(columns={"metric": "quantity"})
    finished = finished.assign(paid_steps=paid_steps(finished))
    ratios = [
        _relative(finished, "rounds", "rounds_to_scratch"),
        _relative(finished, "paid_steps", "steps_to_scratch"),
        _speed_up(finished),
    ]
    return pd.concat([numbers.dropna(subset="value"), _done(cells), *ratios, measured])


def _counted_in_all(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells that say what budgets' promises are worth only where all seeds do: seeds whose rows could be filled from
    the target's (sifu/unlearning/same_start.py) are no fair sample, as they are the ones with the same past.
    """
    of_budgets = cells["claimed_epsilon"].notna() & (cells["stop"] != "target")
    key = [cells[name] for name in _CELL]
    lacks = {name: (of_budgets & cells[name].isna()).groupby(key).transform("any") for name in _COUNTED}
    return cells.assign(**{name: cells[name].mask(rows.astype(bool)) for name, rows in lacks.items()})


def paid_steps(cells: pd.DataFrame) -> pd.Series:
    """Client steps that a request is charged for: its own and, on the first one's row, those of spare clients in the
    training. Rows without a count of spare clients had none.
    """
    spare = cells["spare_steps"] if "spare_steps" in cells else pd.Series(0.0, cells.index)
    return cells["client_steps"].astype(float) + spare.astype(float).fillna(0.0)


def _done(cells: pd.DataFrame) -> pd.DataFrame:
    """1 for seeds that met their stop rule (`done`) or were refused (`refused`), so that means are shares."""
    met = (cells["status"] == "done").astype(float)
    refused = cells["status"] == "refused"
    quantity = pd.Series("done", cells.index).mask(refused, "refused")
    return cells[[*_CELL, "seed"]].assign(quantity=quantity, subset="", value=met.mask(refused, 1.0))


def _relative(cells: pd.DataFrame, column: str, quantity: str) -> pd.DataFrame:
    """A column over that of scratch in the same seed and request, both to the target."""
    paired = _with_scratch(cells, column)
    paired = paired.assign(quantity=quantity, subset="", value=paired[column] / paired[f"{column}_scratch"])
    return paired[_LONG]


def _speed_up(cells: pd.DataFrame) -> pd.DataFrame:
    """Scratch's paid steps over a method's, seed by seed; where a seed took none, which ones did (`no_cost`)."""
    paired = _with_scratch(cells, "paid_steps")
    free = paired["paid_steps"] == 0
    any_free = free.groupby([paired[key] for key in _CELL]).transform("any")
    ratio = paired["paid_steps_scratch"] / paired["paid_steps"].mask(free)
    quantity = pd.Series("speed_up", paired.index).mask(any_free, "no_cost")
    return paired.assign(quantity=quantity, subset="", value=ratio.mask(any_free, free.astype(float)))[_LONG]


def _with_scratch(cells: pd.DataFrame, column: str) -> pd.DataFrame:
    """Cells to the target, with a column of scratch's in the same seed and request."""
    to_target = cells[cells["stop"] == "target"]
    reference = to_target[to_target["variant"] == REFERENCE][["scenario", "seed", "request", column]]
    return to_target.merge(reference, on=["scenario", "seed", "request"], suffixes=("", "_scratch"))


def over_seeds(numbers: pd.DataFrame) -> pd.DataFrame:
    """One row a cell, quantity and subset: mean, standard deviation and intervals over its seeds."""
    by = [*_CELL, "quantity", "subset"]
    groups = {key: group.to_numpy(float) for key, group in numbers.groupby(by)["value"]}
    rows = []
    for (key, values), ends in zip(groups.items(), bootstrap_intervals(groups.values()), strict=True):
        deviation = values.std(ddof=1) if _has_spread(values) else None
        names = dict(zip(by, key, strict=True))
        row = names | {"mean": values.mean(), "std": deviation, "seeds": len(values)}
        rows.append(row | _interval(values, ends, is_share=names["quantity"] in SHARES))
    table = pd.DataFrame(rows, columns=[*by, "mean", "std", "low", "high", "t_low", "t_high", "interval", "seeds"])
    return table.astype({"std": float, "t_low": float, "t_high": float})


def _interval(values: NDArray[np.float64], bootstrap: tuple[float, float], *, is_share: bool) -> dict[str, object]:
    """The ends of a mean's interval, of Student's where there are few seeds, and which kind it is."""
    if is_share:
        ends, kind = clopper_pearson(round(values.sum()), len(values)), "clopper_pearson"
    else:
        ends, kind = bootstrap, "bootstrap" if _has_spread(values) else "range"
    few = student_interval(values) if kind == "bootstrap" else None
    t_low, t_high = few or (None, None)
    return {"low": ends[0], "high": ends[1], "t_low": t_low, "t_high": t_high, "interval": kind}


def student_interval(values: NDArray[np.float64]) -> tuple[float, float] | None:
    """Student's interval of a mean over few seeds; None over many, where the bootstrap's is as good."""
    if len(values) > WITH_STUDENT:
        return None
    return student(float(values.mean()), standard_error(values), len(values))


def standard_error(values: NDArray[np.float64]) -> float:
    """Of the mean; infinite for one value."""
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else np.inf


def _has_spread(values: NDArray[np.float64]) -> bool:
    return bool(np.isfinite(values).all()) and len(values) > 1


def to_target(numbers: pd.DataFrame) -> pd.DataFrame:
    """Statistics of recoveries to the target, for people. `short`: some seed did not reach it, so that rounds are a
    lower bound of what it takes. Ratios of costs are left out there, and where scratch itself fell short.
    """
    found = numbers[numbers["stop"] == "target"]
    unmet = found[(found["quantity"] == "done") & (found["mean"] < 1)]
    short = _among(found, unmet, ["scenario", "variant", "request"])
    without_scratch = _among(found, unmet[unmet["variant"] == REFERENCE], ["scenario", "request"])
    empty = (short | without_scratch) & found["quantity"].isin(_RATIOS)
    return found.assign(short=short)[~empty]


def _among(rows: pd.DataFrame, chosen: pd.DataFrame, keys: list[str]) -> NDArray[np.bool_]:
    """Which rows have the keys of one that was chosen."""
    return pd.MultiIndex.from_frame(rows[keys]).isin(pd.MultiIndex.from_frame(chosen[keys]))


def bootstrap_intervals(samples: Iterable[NDArray[np.float64]], level: float = LEVEL) -> list[tuple[float, float]]:
    """The percentile bootstrap interval of each sample's mean; the same resamples for all samples and every time."""
    samples = list(samples)
    found = [(float(values.min()), float(values.max())) for values in samples]
    usual = [place for place, values in enumerate(samples) if _has_spread(values)]
    for size in {len(samples[place]) for place in usual}:
        places = [place for place in usual if len(samples[place]) == size]
        mean_of = _resampled_mean(size)
        for first in range(0, len(places), _AT_ONCE):
            some = places[first : first + _AT_ONCE]
            means = mean_of(np.stack([samples[place] for place in some]))  # [samples, resamples]
            ends = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=1)
            for place, (low, high) in zip(some, ends.T.tolist(), strict=True):
                found[place] = low, high
    return found


def bootstrap_average(samples: list[NDArray[np.float64]], level: float = LEVEL) -> tuple[float, float]:
    """The percentile bootstrap interval of the mean of samples' means; each sample is resampled on its own."""
    means = [_resampled_mean(len(values), place)(values[None])[0] for place, values in enumerate(samples)]
    low, high = np.quantile(np.mean(means, axis=0), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _resampled_mean(size: int, key: int = 0) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """The means of all resamples of samples [n, size]: [n, resamples]. With many seeds from how often each is drawn,
    as the draws themselves would fill the memory.
    """
    generator = np.random.default_rng(key)
    if size <= _FEW:
        draws = generator.integers(size, size=(_RESAMPLES, size))
        return lambda samples: samples[:, draws].mean(2)
    some = max(1, _DRAWS // size)  # resamples at a time
    counts = [_counts(generator, min(some, _RESAMPLES - first), size) for first in range(0, _RESAMPLES, some)]
    return lambda samples: np.concatenate([samples @ (part.T.astype(float) / size) for part in counts], axis=1)


def _counts(generator: np.random.Generator, resamples: int, size: int) -> NDArray[np.uint8]:
    """How often each seed is in each of the next resamples, [resamples, size]: about once, never hundreds of times."""
    places = generator.integers(size, size=(resamples, size)) + size * np.arange(resamples)[:, None]
    return np.bincount(places.ravel(), minlength=resamples * size).reshape(resamples, size).astype(np.uint8)


def intervals(rows: pd.DataFrame, by: list[str], column: str) -> pd.DataFrame:
    """Mean over seeds of a column and its 95% bootstrap interval (mean, low, high), for each value of `by`; `short`:
    some seed did not reach its target. A seed that diverged has no rounds: the few before it broke would look fast.
    """
    found = []
    values_of = rows[column].where(rows["status"].isin(FINISHED)) if column == "rounds" else rows[column]
    for key, group in rows.assign(value=values_of).groupby(by):
        values = group["value"].dropna().to_numpy(float)
        if len(values):
            ((low, high),) = bootstrap_intervals([values])
            short = bool((group["status"] != "done").any())
            found.append([*key, values.mean(), low, high, short])
    return pd.DataFrame(found, columns=[*by, "mean", "low", "high", "short"])


def lost(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """The values of `by` where every seed diverged."""
    every = (rows["status"] == "diverged").groupby([rows[key] for key in by]).all()
    return every[every].reset_index()[by]
