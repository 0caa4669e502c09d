"""What each promise is worth, counted for one client, for a request, for everyone forgotten so far, and as measured.

Everything follows from the ratio of sensitivity to noise. A count is compared with the promise of its method, and the
table says which of the counts the promise is about: that of one client where it covers clients one by one.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sifu.core.intervals import clopper_pearson
from sifu.report.columns import numbers
from sifu.report.judged_promises import judged_promises
from sifu.report.privacy_points import POINTS, ROUNDING, at_claim, claimed_ratio, psi_over_sigma
from sifu.store.report_schemas import CERTIFICATES, POINT_COLUMNS

CLAIMED, ONE, REQUEST, EVERYONE = "claimed", "one client", "request", "everyone"
_COUNTS = {ONE: "single_psi", REQUEST: "strict_psi", EVERYONE: "everyone_psi", "measured": "alpha"}  # columns of cells
_KEY = ["scenario", "variant", "request"]
_ratio_of = cache(claimed_ratio)


def certificates(cells: pd.DataFrame) -> pd.DataFrame:
    """A row a scenario, variant, request and count, of recoveries to the target (table `certificates`)."""
    rows = [key | row for key, group in _groups(_promised(cells)) for row in _rows(group)]
    return pd.DataFrame(rows, columns=[column.name for column in CERTIFICATES.columns])


def _promised(cells: pd.DataFrame) -> pd.DataFrame:
    """Answers to the target that promise something, also those whose recovery diverged."""
    return judged_promises(cells[cells["stop"] == "target"])


class KeptForOne(NamedTuple):
    """A promise to each client alone that is kept: the largest real epsilon of a client, and the claimed one."""

    epsilon: float
    claimed: float


def kept_for_one(cells: pd.DataFrame, scenario: str, variant: str) -> KeptForOne | None:
    """Whether a variant keeps a promise to each client alone, in every answer of `cells` to the target.

    By an accountant where there is one, else by the bound for the worst client. None: it is broken, not counted, or it
    is made to several clients together.
    """
    rows = _promised(cells[(cells["scenario"] == scenario) & (cells["variant"] == variant)])
    if rows.empty or _own_count(rows) != ONE:
        return None
    spent, claimed = numbers(rows, "spent_epsilon"), rows["claimed_epsilon"].astype(float)
    epsilon = spent.where(spent.notna(), at_claim(rows.assign(covers=1), "epsilon"))
    if not (epsilon <= claimed * (1 + ROUNDING)).all():  # also where one is not known
        return None
    return KeptForOne(float(epsilon.max()), float(claimed.max()))


def _groups(cells: pd.DataFrame) -> Iterator[tuple[dict[str, object], pd.DataFrame]]:
    for key, group in cells.groupby(_KEY):
        yield dict(zip(_KEY, key, strict=True)), group


def _rows(group: pd.DataFrame) -> list[dict[str, object]]:
    """The rows of one request; a count that was not made has none."""
    claim = pd.Series(
        [_ratio_of(float(e), float(d)) for e, d in zip(group["claimed_epsilon"], group["claimed_delta"], strict=True)],
        group.index,
    )
    own = _own_count(group)
    spent = numbers(group, "spent_epsilon")
    found = [_row(group, CLAIMED, claim, None) | {"own": False}]
    if spent.notna().any():  # noise in every round has no one ratio
        found[0] |= _own_point(float(group["claimed_epsilon"].median()), float(group["claimed_delta"].median()))
    for count, column in _COUNTS.items():
        ratio = psi_over_sigma(numbers(group, column), group["sigma"])
        kept = (ratio <= claim * (1 + ROUNDING)).where(ratio.notna() & claim.notna())
        if count == ONE and spent.notna().any():  # an accountant knows better than one ratio
            kept = (spent <= group["claimed_epsilon"] * (1 + ROUNDING)).where(spent.notna())
        if ratio.notna().any() or kept.notna().any():
            found.append(_row(group, count, ratio, kept.dropna().astype(bool)) | {"own": count == own})
    return found


def _own_point(epsilon: float, delta: float) -> dict[str, object]:
    """A claim at its own point alone."""
    named = {name: POINTS[text].of_claim(epsilon, delta) for text, name in POINT_COLUMNS.items()} | {"ratio": math.nan}
    return {f"{which}_{name}": value for which in ("median", "worst") for name, value in named.items()}


def _own_count(group: pd.DataFrame) -> str:
    """Which count the promise is about: one client, the clients of the request, or all forgotten so far."""
    if "covers_everyone" in group and group["covers_everyone"].eq(True).any():
        return EVERYONE
    return REQUEST if group["covers"].max() > 1 else ONE  # one client also where it is unknown


def _row(group: pd.DataFrame, count: str, ratio: pd.Series, kept: pd.Series | None) -> dict[str, object]:
    known = ratio.dropna().to_numpy(float)
    ends = np.array([np.median(known), known.max()] if len(known) else [math.nan] * 2)
    named = {column: POINTS[text].of(ends) for text, column in POINT_COLUMNS.items()}
    by_name = {"ratio": ends} | named
    row: dict[str, object] = {"count": count, "seeds": len(known) if kept is None else len(kept)}
    row |= {name: float(group[name].median()) for name in ("claimed_epsilon", "claimed_delta", "sigma")}
    row["spent_epsilon"] = float(numbers(group, "spent_epsilon").max()) if count == ONE else math.nan
    row |= {
        f"{which}_{name}": float(of[place])
        for place, which in enumerate(("median", "worst"))
        for name, of in by_name.items()
    }
    if kept is None or not len(kept):
        return row | {"kept": None, "kept_low": None, "kept_high": None}
    low, high = clopper_pearson(int(kept.sum()), len(kept))
    return row | {"kept": float(kept.mean()), "kept_low": low, "kept_high": high}


def for_people(table: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """The same in words: medians over seeds, with the worst seed in brackets."""
    order = {variant: place for place, variant in enumerate(labels)}
    rows = table[table["variant"].isin(list(order))]
    counts = {count: place for place, count in enumerate((CLAIMED, *_COUNTS))}
    rows = rows.assign(place=rows["variant"].map(order), step=rows["count"].map(counts))
    rows = rows.sort_values(["scenario", "place", "request", "step"])
    columns = ["scenario", "method", "request", "claimed epsilon", "claimed delta", "count", "ratio", *POINT_COLUMNS]
    columns += ["promise kept", "spent epsilon"]
    return pd.DataFrame([_words(row, labels) for row in rows.to_dict("records")], columns=columns)


def _words(row: dict[Hashable, Any], labels: dict[str, str]) -> list[object]:
    claim = [f"{row['claimed_epsilon']:.3g}", f"{row['claimed_delta']:.3g}"]
    numbers = [_median_and_worst(row, name) for name in ("ratio", *POINT_COLUMNS.values())]
    count = f"{row['count']} (what is claimed)" if row["own"] else row["count"]
    kept = _kept(row)
    spent = _number(row["spent_epsilon"])
    return [row["scenario"], labels[str(row["variant"])], row["request"], *claim, count, *numbers, kept, spent]


def _median_and_worst(row: dict[Hashable, Any], name: str) -> str:
    median, worst = (_number(row[f"{which}_{name}"]) for which in ("median", "worst"))
    return median if median == worst else f"{median} (worst {worst})"


def _kept(row: dict[Hashable, Any]) -> str:
    if pd.isna(row["kept"]):
        return "-"
    seeds = row["seeds"]
    ends = f"[{row['kept_low']:.0%}, {row['kept_high']:.0%}]"
    return f"{round(row['kept'] * seeds)} of {seeds} {ends}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if 1000 <= value < math.inf else f"{value:.3g}"
