"""docs/results.md: every stage, every column of every table, and every metric."""

from __future__ import annotations

from sifu.catalog.lookup import resolve
from sifu.catalog.metrics import METRICS
from sifu.docs.settings import NOTE
from sifu.plan.stage_spec import STAGES, WITH_PART
from sifu.store.report_schemas import BOUNDS, CERTIFICATES, FRONTIER, STATISTICS
from sifu.store.schemas import METRICS as METRICS_TABLE
from sifu.store.table import Table


def results_page() -> str:
    """The whole page: the stages, then a section a table."""
    parts = [
        NOTE.format(source="sifu/plan/stage_spec.py, sifu/store/*schemas.py and sifu/metrics"),
        "# Tables\n",
        *_stage_list(),
        "Tables are Parquet files, sorted by their key. Every file carries its provenance as metadata with the prefix",
        "`sifu.`: rules version, commit, hash of the code that made it, settings, torch, NumPy, device, notes of the",
        "stage.\n",
    ]
    for table in _tables():
        parts += _section(table)
        parts += _metric_list() if table is METRICS_TABLE else []
    return "\n".join(parts)


def _stage_list() -> list[str]:
    """What each stage does, and where its files lie."""
    lines = ["| stage | what it does | files |", "| --- | --- | --- |"]
    for spec in STAGES.values():
        part = "<part>/" if spec.jobs in WITH_PART else ""
        place = "" if spec.jobs == "once" else f"<scenario>/{part}<block>/"
        files = ", ".join(f"`{file}`" for file in spec.outputs)
        lines.append(f"| `{spec.name}` | {spec.does} | `results/{spec.folder or spec.name}/{place}`: {files} |")
    parts = "a variant, a change of the federation, a search, or a range of clients"
    return [*lines, "", f"A part is {parts}; a block is a range of seeds.\n"]


def _tables() -> list[Table]:
    """The tables of all stages, each once, then those of the report."""
    targets = dict.fromkeys(target for spec in STAGES.values() for target in spec.tables.values())
    return [*(resolve(target) for target in targets), STATISTICS, BOUNDS, CERTIFICATES, FRONTIER]


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
    for name, target in METRICS.own.items():
        lines.append(f"| `{name}` | {resolve(target).__doc__.strip().splitlines()[0]} |")
    return [*lines, ""]
