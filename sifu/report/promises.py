"""Claimed and actual, in one row a method: the epsilon of each count. Table `certificates` has the rest."""

from __future__ import annotations

import pandas as pd

from sifu.report.certificates import CLAIMED, EVERYONE, ONE, REQUEST, for_people

NOTE = (
    "After the last request, a row a method: the claimed epsilon, and the one that holds, counted in four ways, all at "
    "delta = 0.01; medians over seeds, with the worst seed. `promise to`: whom the certificate covers, which is the "
    "count that it is held to; the table `certificates` has every request and delta."
)
_EPSILON = "epsilon at delta = 1e-2"
_COUNTS = {ONE: "for one client", REQUEST: "for the request", EVERYONE: "for everyone", "measured": "measured"}


def exact_by_every_count(table: pd.DataFrame) -> pd.Series:
    """Which rows of table `certificates` are of methods that claim epsilon 0, and that no count contradicts."""
    exact = table["worst_ratio"].eq(0) & table["kept"].fillna(1.0).eq(1.0)
    return exact.groupby([table["scenario"], table["variant"]]).transform("all")


def left_out(table: pd.DataFrame, labels: dict[str, str]) -> str:
    """A sentence that names the methods that are exact in every scenario; nothing where there is none."""
    exact = exact_by_every_count(table)
    always = set(table["variant"][exact]) - set(table["variant"][~exact])
    names = [label for variant, label in labels.items() if variant in always]
    return f" Not shown, as they claim epsilon 0 and no count says otherwise: {'; '.join(names)}." if names else ""


def promises(table: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """A row a scenario and method that is not exact, of table `certificates`, in the order of the methods."""
    words = for_people(table[~exact_by_every_count(table)], labels)
    groups = words.groupby(["scenario", "method"], sort=False)
    columns = ["scenario", "method", "promise to", "claimed", *_COUNTS.values(), "promise kept", "spent epsilon"]
    return pd.DataFrame([[*key, *_row(group)] for key, group in groups], columns=columns)


def _row(group: pd.DataFrame) -> list[str]:
    """Whom the promise is made to, its epsilon, that of each count, and how often it is kept."""
    own = group[group["count"].str.endswith("(what is claimed)")]
    of = dict(zip(group["count"].str.removesuffix(" (what is claimed)"), group[_EPSILON], strict=True))
    promised = [_first(own["count"].str.removesuffix(" (what is claimed)")), of.get(CLAIMED, "-")]
    spent = [text for text in group["spent epsilon"] if text != "-"]
    return [*promised, *(of.get(name, "-") for name in _COUNTS), _first(own["promise kept"]), *(spent[:1] or ["-"])]


def _first(texts: pd.Series) -> str:
    return str(texts.iloc[0]) if len(texts) else "-"
