"""What an honest certificate saves today: a sentence a dataset, for the README."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sifu.docs.named import scenarios, variants
from sifu.replication.claims.stored_tables import DATASETS, read_tables
from sifu.replication.published import Published
from sifu.report.frontier import DELTA, UNKNOWN, frontier

_TRAIN_AGAIN = ("scratch", "scratch_again")  # methods that save nothing: what others are compared with
_IS = {  # what a reader who meets the name here first should know
    "blurred_scratch": " (a retraining from a noised start, which keeps nothing of the training)",
    "exact_rollback": " (back to the round before a forgotten client first took part)",
}
_HEAD = "What an honest certificate saves today"


def honest_saving(root: Path, run: Published) -> str:
    """On each of the paper's datasets, the cheapest certificate that survives for all clients of a request."""
    tables = read_tables(run.folder)
    places, known = scenarios(root), variants(root)
    table = frontier(tables.cells, tables.sweep)
    methods = table["variant"].map(lambda name: known[name].method if name in known else name)
    table = table[~methods.isin(_TRAIN_AGAIN)]
    labels = {name: variant.label for name, variant in known.items()}
    ran = [name for name in DATASETS if name in set(table["scenario"])]
    if not ran or (table.loc[table["scenario"].isin(ran), "promise"] == "unknown").all():
        return f"{_HEAD}: {UNKNOWN}."
    words = [_of_dataset(places[name].label, table[table["scenario"] == name], labels) for name in ran]
    return f"{_HEAD} (epsilon at delta = {DELTA:g}, for all clients of a request): {' '.join(words)}"


def _of_dataset(title: str, rows: pd.DataFrame, labels: dict[str, str]) -> str:
    """A sentence on one dataset. A saving counts where its interval lies below the cost of scratch."""
    kept = rows[(rows["promise"] == "request") & (2 * rows["compared"] >= rows["seeds"])].dropna(subset="cost")
    if kept.empty:
        return f"{title}: {_why_nothing(rows, labels)}."
    saving = kept[kept["cost_high"] < 1]
    best = (saving if len(saving) else kept).sort_values("cost").iloc[0]
    sigma = "" if pd.isna(best["sigma"]) else f" at sigma {best['sigma']:g}"
    name = f"{labels.get(best['variant'], best['variant'])}{sigma}"
    method = f"{name}{_IS.get(best['variant'], '')}, {_epsilon(best['epsilon'])}"
    if not best["cost_high"] < 1:
        return f"{title}: nothing; {method}, takes {best['cost']:.0%} of scratch's client steps."
    chosen = " (the cheapest of all methods and sigmas that were tried, on the same seeds)"
    return f"{title}: {1 - best['cost']:.0%} of scratch's client steps, by {method}{chosen}."


def _why_nothing(rows: pd.DataFrame, labels: dict[str, str]) -> str:
    """Why there is no certificate with a cost."""
    if (rows["promise"] == "unknown").any():
        return UNKNOWN
    surviving = rows[rows["promise"] == "request"]
    if surviving.empty:
        return "no certificate survives"
    found = surviving[["variant", "compared", "seeds"]].itertuples(index=False)
    parts = [f"{labels.get(name, name)} in {compared} of {seeds}" for name, compared, seeds in found]
    return f"nothing (what survives seldom reaches the target after every request: {', '.join(parts)} seeds)"


def _epsilon(value: float) -> str:
    return "no epsilon known at this delta" if pd.isna(value) else f"epsilon {value:.2g}"
