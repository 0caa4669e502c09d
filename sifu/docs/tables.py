"""docs/results.md and docs/methods.md: every column of every table, every metric, every method."""

from __future__ import annotations

from sifu.catalog.lookup import resolve
from sifu.catalog.metrics import METRICS
from sifu.docs.settings import NOTE
from sifu.report.methods import methods_page
from sifu.store.schemas import METRICS as METRICS_TABLE
from sifu.store.schemas import TABLES


def table_page() -> str:
    """Table 1."""
    return NOTE.format(source="sifu/methods and sifu/report/other_methods.yaml") + "# Methods\n\n" + methods_page()


def results_page() -> str:
    """Every column of every table."""
    parts = [
        NOTE.format(source="sifu/store/schemas.py and sifu/metrics"),
        "# Tables\n",
        "Parquet, one row a key, sorted by it. Every file carries its provenance as metadata with the prefix `sifu.`:",
        "rules version, commit, hash of the code that made it, settings, torch, NumPy, device, notes of the stage.\n",
    ]
    for table in TABLES:
        parts += [
            f"## {table.name}\n",
            f"{table.meaning[0].upper()}{table.meaning[1:]}. Key: {', '.join(table.key)}.\n",
        ]
        parts += ["| column | type | may be null | meaning |", "| --- | --- | --- | --- |"]
        for c in table.columns:
            meaning = c.meaning.replace("|", "\\|")
            parts.append(f"| `{c.name}` | {c.type} | {'yes' if c.nullable else 'no'} | {meaning} |")
        parts += ["", *_metric_list()] if table is METRICS_TABLE else [""]
    return "\n".join(parts)


def _metric_list() -> list[str]:
    """Every metric with the first line of its docstring."""
    lines = ["| metric | meaning |", "| --- | --- |"]
    for name, target in METRICS.items():
        lines.append(f"| `{name}` | {resolve(target).__doc__.strip().splitlines()[0]} |")
    return [*lines, ""]
