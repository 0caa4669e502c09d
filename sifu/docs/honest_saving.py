"""What the cheapest certificate that survives saves: a sentence for the README, and a line a dataset."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sifu.docs.named import scenarios, variant_labels, variants
from sifu.docs.totals_in_words import listed
from sifu.replication.claims.stored_tables import DATASETS, read_tables
from sifu.replication.published import Published
from sifu.report.frontier import DELTA, frontier
from sifu.report.survivors import UNKNOWN

_TRAIN_AGAIN = ("scratch", "scratch_again")  # methods that save nothing: what others are compared with
_IS = {  # what a reader who meets the name here first should know
    "blurred_scratch": " (a retraining from a noised start; the saving comes from that start, not from unlearning)",
    "exact_rollback": " (back to the round before a forgotten client first took part)",
}
_HEAD = "What the cheapest certificate that holds up saves of a retraining"
_CHOSEN = (
    f"Epsilon is at delta = {DELTA:g}, for all clients of a request; of all methods and sigmas that were tried, on the "
    "same seeds."
)


def honest_saving(root: Path, run: Published) -> str:
    """In a sentence, what the cheapest certificate saves that survives for all clients of a request."""
    found, labels = _by_dataset(root, run), variant_labels(root)
    if not found or all(_unknown(rows) for rows in found.values()):
        return f"{_HEAD}: {UNKNOWN}."
    saved = {title: _saving(rows) for title, rows in found.items()}
    words = [f"{1 - row['cost']:.0%} on {title}" for title, row in saved.items() if row is not None]
    nothing = [title for title, row in saved.items() if row is None and not _unknown(found[title])]
    words += [f"nothing on {listed(nothing)}"] if nothing else []
    unknown = [title for title, rows in found.items() if _unknown(rows)]
    words += [f"{listed(unknown)}: {UNKNOWN}"] if unknown else []
    means = _means({title: _of(row, labels) for title, row in saved.items() if row is not None})
    chosen = f" {_CHOSEN}" if means else ""
    return f"{_HEAD}: {'; '.join(words)}.{means}{chosen}"


def _means(by_title: dict[str, str]) -> str:
    """Which method saves it on which datasets; those with the same answer together."""
    titles: dict[str, list[str]] = {}
    for title, what in by_title.items():
        titles.setdefault(what, []).append(title)
    return "".join(f" On {listed(names)}: {what}." for what, names in titles.items())


def honest_savings(root: Path, run: Published) -> str:
    """On each of the paper's datasets, the cheapest certificate that survives for all clients of a request; a list."""
    labels = variant_labels(root)
    lines = [f"- {title}: {_of_dataset(rows, labels)}" for title, rows in _by_dataset(root, run).items()]
    return "\n".join(lines) or UNKNOWN


def _by_dataset(root: Path, run: Published) -> dict[str, pd.DataFrame]:
    """The rows of the frontier, without retrainings, of each of the paper's datasets that has any, by its title."""
    tables = read_tables(run.folder)
    places, known = scenarios(root), variants(root)
    table = frontier(tables.cells, tables.sweep, tables.refuted)
    methods = table["variant"].map(lambda name: known[name].method if name in known else name)
    table = table[~methods.isin(_TRAIN_AGAIN)]
    return {places[name].label: table[table["scenario"] == name] for name in DATASETS if name in set(table["scenario"])}


def _kept(rows: pd.DataFrame) -> pd.DataFrame:
    """The certificates that survive for all clients of a request and have a cost."""
    return rows[(rows["promise"] == "request") & (2 * rows["compared"] >= rows["seeds"])].dropna(subset="cost")


def _saving(rows: pd.DataFrame) -> pd.Series | None:
    """The cheapest of those that save something: a saving counts where its interval lies below the cost of scratch."""
    kept = _kept(rows)
    saving = kept[kept["cost_high"] < 1]
    return saving.sort_values("cost").iloc[0] if len(saving) else None


def _unknown(rows: pd.DataFrame) -> bool:
    """Whether nothing survives so far, and some certificates were not counted."""
    return _kept(rows).empty and bool((rows["promise"] == "unknown").any())


def _of_dataset(rows: pd.DataFrame, labels: dict[str, str]) -> str:
    """What is saved on one dataset, by what; or what it costs to save nothing."""
    kept, best = _kept(rows), _saving(rows)
    if kept.empty:
        return f"{_why_nothing(rows, labels)}."
    if best is None:
        cheapest = kept.sort_values("cost").iloc[0]
        return f"nothing. {_of(cheapest, labels)}, takes {cheapest['cost']:.0%} of scratch's client steps."
    return f"{1 - best['cost']:.0%} of scratch's client steps, by {_of(best, labels)}."


def _of(row: pd.Series, labels: dict[str, str]) -> str:
    """A method, its sigma where it was swept, what it is, and its epsilon."""
    sigma = "" if pd.isna(row["sigma"]) else f" at sigma {row['sigma']:g}"
    name = f"{labels.get(row['variant'], row['variant'])}{sigma}"
    return f"{name}{_IS.get(row['variant'], '')}, {_epsilon(row['epsilon'])}"


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
