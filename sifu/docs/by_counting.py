"""What counting many models proves of the certificates: tables for docs/certificates.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from sifu.certificate.audit import REFUTED
from sifu.docs.named import scenarios
from sifu.replication.published import Published, read_csv, read_manifest
from sifu.report.tables import markdown

_SHOWN = [
    "method",
    "request",
    "forgotten",
    "promise to",
    "claimed",
    "strict",
    "measured",
    "proved",
    "at most",
    "models",
]
_LARGE = ("strict", "measured", "models")  # columns of numbers that may be large
_NOTHING = "No audit has been run yet."


def proved_by_counting(root: Path, run: Published) -> str:
    """For each scenario with an audit a table of its methods, and how long the counting took."""
    path = run.tables / "audit.csv"
    table = read_csv(path) if path.exists() else pd.DataFrame(columns=["scenario"])
    tested = set(table["scenario"])
    return "\n\n".join(_table(root, run, table, name) for name in scenarios(root) if name in tested) or _NOTHING


def _table(root: Path, run: Published, table: pd.DataFrame, scenario: str) -> str:
    rows = table[table["scenario"] == scenario]
    deltas = ", ".join(sorted(set(rows["delta"])))
    head = f"{scenarios(root)[scenario].label}, epsilons at delta {deltas}, {_time(run, scenario)}:"
    shown = rows[_SHOWN].apply(lambda column: column.map(_in_full) if column.name in _LARGE else column)
    return f"{head}\n\n{markdown(shown, '').strip()}\n\n{_refuted(rows)}"


def _in_full(text: str) -> str:
    """A large number without an exponent: `91,600` for `9.16e+04`; others, and a dash, as they are."""
    value = pd.to_numeric(text, errors="coerce")
    return text if pd.isna(value) or abs(value) < 1000 else f"{value:,.0f}"


def _refuted(rows: pd.DataFrame) -> str:
    """Whose promises are refuted. How many could be: so many models must prove enough, of whom is promised to."""
    refuted = ", ".join(dict.fromkeys(rows.loc[rows["verdict"] == REFUTED, "method"]))
    most, claimed = (pd.to_numeric(rows[name], errors="coerce") for name in ("at most", "claimed"))
    together = (rows["promise to"] != "each alone") | (rows["forgotten"].astype(int) == 1)
    count, models = int(((most >= claimed) & together).sum()), f"{rows['models'].astype(int).max():,} models"
    if count:
        found = f"Refuted: {refuted}." if refuted else "No promise is refuted."
        return f"{found} {models} can refute {count} of these {len(rows)} promises."
    if most.max() < claimed.min():
        limits = f"at most epsilon {most.max():g}, below the claimed {claimed.min():g}"
        return f"No promise is refuted, and none could be: {models} prove {limits}."
    return (
        "No promise is refuted, and none could be: where so many models prove enough, several clients leave at once, "
        "and the promise is to each alone."
    )


def _time(run: Published, scenario: str) -> str:
    """How long the last run of the audit took, and on what."""
    blocks = read_manifest(run.folder)["blocks"]
    own = [block for block in blocks if block["stage"] == "audit" and block["scenario"] == scenario]
    minutes = sum(block["seconds"] or 0.0 for block in own) / 60
    devices = ", ".join(sorted({block["device"] for block in own}))
    shared = any(_at_once(block, other) for block in own for other in blocks if other is not block)
    return f"counted within {minutes:.0f} minutes ({devices}{', shared with other jobs' if shared else ''})"


def _at_once(block: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two jobs ran at the same time, as far as their times are known."""
    if None in (block["began"], block["seconds"], other["began"], other["seconds"]):
        return False
    first, second = sorted((block, other), key=lambda one: float(one["began"]))
    return bool(second["began"] < first["began"] + first["seconds"])
