"""docs/results.md: every column of every table, and every metric."""

from __future__ import annotations

from sifu.catalog.lookup import resolve
from sifu.catalog.metrics import METRICS
from sifu.docs.settings import NOTE
from sifu.store.schemas import METRICS as METRICS_TABLE
from sifu.store.schemas import TABLES
from sifu.store.table import Table


def results_page() -> str:
    """The whole page, a section a table."""
    parts = [
        NOTE.format(source="sifu/store/schemas.py and sifu/metrics"),
        "# Tables\n",
        "Parquet, one row a key, sorted by it. Every file carries its provenance as metadata with the prefix `sifu.`:",
        "rules version, commit, hash of the code that made it, settings, torch, NumPy, device, notes of the stage.\n",
    ]
    for table in TABLES:
        parts += _section(table)
        parts += _metric_list() if table is METRICS_TABLE else []
    return "\n".join(parts)


def _section(table: Table) -> list[str]:
    lines = [
        f"## {table.name}\n",
        f"{table.meaning[0].upper()}{table.meaning[1:]}. Key: {', '.join(table.key)}.\n",
        "| column | type | may be null | meaning |",
        "| --- | --- | --- | --- |",
    ]
    for column in table.columns:
        meaning = column.meaning.replace("|", "\\|")
        lines.append(f"| `{column.name}` | {column.type} | {'yes' if column.nullable else 'no'} | {meaning} |")
    return [*lines, ""]


def _metric_list() -> list[str]:
    """Every metric with the first line of its docstring."""
    lines = ["| metric | meaning |", "| --- | --- |"]
    for name, target in METRICS.items():
        lines.append(f"| `{name}` | {resolve(target).__doc__.strip().splitlines()[0]} |")
    return [*lines, ""]
