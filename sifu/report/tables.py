"""Tables that people read: one row a method."""

from __future__ import annotations

import pandas as pd

HEADLINE = (
    ("done", "", "target met"),
    ("rounds", "", "rounds"),
    ("rounds_to_scratch", "", "rounds / scratch"),
    ("accuracy", "retain", "retain accuracy"),
    ("accuracy", "forget", "forget accuracy"),
    ("accuracy", "test", "test accuracy"),
    ("claimed_delta", "", "claimed delta"),
    ("actual_delta", "", "actual delta"),
)
BUDGETS = (
    ("gap_to_scratch", "retain", "gap on retain"),
    ("gap_to_scratch", "forget", "gap on forget"),
    ("rounds", "", "rounds"),
)


def headline(statistics: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """To the target accuracy: cost, what was kept, what was forgotten, what was promised and what holds."""
    return _wide(statistics[statistics["stop"] == "target"], HEADLINE, labels, ["scenario", "method", "request"])


def budgets(statistics: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """Under a budget: absolute gaps to scratch (run to its own target)."""
    limited = statistics[statistics["stop"] != "target"]
    return _wide(limited, BUDGETS, labels, ["scenario", "stop", "method", "request"])


def _wide(
    statistics: pd.DataFrame, columns: tuple[tuple[str, str, str], ...], labels: dict[str, str], keys: list[str]
) -> pd.DataFrame:
    """One row a key, a column for each quantity as `mean [low, high]`; a cell that is missing says so."""
    order = {label: place for place, label in enumerate(labels.values())}
    rows = statistics[statistics["variant"].isin(list(labels))]
    rows = rows.assign(method=rows["variant"].map(labels))
    found = []
    for quantity, subset, title in columns:
        part = rows[(rows["quantity"] == quantity) & (rows["subset"] == subset)]
        if len(part):
            found.append(part.assign(column=title, text=part.apply(_text, axis=1)))
    if not found:
        return pd.DataFrame(columns=keys)
    titles = [title for _, _, title in columns]
    wide = pd.concat(found).pivot(index=keys, columns="column", values="text")
    wide = wide[[title for title in titles if title in wide.columns]].fillna("-").reset_index()
    wide.columns.name = None
    by = [key for key in keys if key != "method"]
    return (
        wide.assign(_order=wide["method"].map(order)).sort_values([*by[:-1], "_order", by[-1]]).drop(columns="_order")
    )


def _text(row: pd.Series) -> str:
    digits = 0 if row["quantity"] == "rounds" else 3
    if row["quantity"] == "done":
        return f"{round(row['mean'] * row['seeds'])} of {row['seeds']}"
    if row["quantity"] in ("claimed_delta", "actual_delta"):
        return f"{row['mean']:.2g}"
    return f"{row['mean']:.{digits}f} [{row['low']:.{digits}f}, {row['high']:.{digits}f}]"


def markdown(table: pd.DataFrame, caption: str) -> str:
    """A table as GitHub shows it."""
    lines = [caption, "", "| " + " | ".join(table.columns) + " |", "|" + " --- |" * len(table.columns)]
    lines += ["| " + " | ".join(str(value) for value in row) + " |" for row in table.itertuples(index=False)]
    return "\n".join(lines) + "\n"
