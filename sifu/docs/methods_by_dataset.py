"""Every method on every dataset of the replication: its cost over scratch's, and what it still knows."""

from __future__ import annotations

from pathlib import Path

from sifu.docs.measured_text import table_text
from sifu.replication.claims.forgetting import beyond_scratch
from sifu.replication.claims.measured import Measured
from sifu.replication.claims.rounds import share_of_scratch
from sifu.replication.claims.stored_tables import DATASETS, REFERENCE, SHOWN_ONLY, StoredTables, read_tables
from sifu.replication.published import CONFIG, NOT_RUN, REPLICATION, described, is_published
from sifu.report.floor import AGAIN, floor_text

_NO_CELLS = "-"


def methods_by_dataset(root: Path) -> str:
    """A row a method, a column a dataset that was run; a sentence without a replication."""
    if not is_published(root):
        return NOT_RUN
    plan, tables = described(root / CONFIG), read_tables(root / REPLICATION)
    scenarios = [name for name in (*DATASETS, *SHOWN_ONLY) if tables.ran(name, REFERENCE)]
    rows = [
        [variant["label"], *(_cell(tables, scenario, name) for scenario in scenarios)]
        for name, variant in plan["variants"].items()
        if name != "original"  # has no recovery, so no cost
    ]
    titles = [f"{plan['scenarios'][name]['label']}{_floor(tables, name)}" for name in scenarios]
    return table_text(rows, "method", *titles).strip()


def _floor(tables: StoredTables, scenario: str) -> str:
    """The floor of a dataset's gaps, where scratch was run again."""
    again = beyond_scratch(tables, scenario, AGAIN).abs()
    return f" ({floor_text(float(again.mean()))})" if len(again) else ""


def _cell(tables: StoredTables, scenario: str, variant: str) -> str:
    """Client steps over scratch's, and accuracy on forgotten clients minus scratch's; or how many seeds have them."""
    ran = tables.ran(scenario, variant)
    cost = Measured.of(share_of_scratch(tables, scenario, variant, "client_steps"))
    beyond = Measured.of(beyond_scratch(tables, scenario, variant))
    if cost is None or 2 * cost.seeds < ran:
        return f"{cost.seeds if cost else 0} of {ran} seeds" if ran else _NO_CELLS
    note = f" ({cost.seeds} of {ran})" if cost.seeds < ran else ""
    knows = "-" if beyond is None else f"{beyond.mean:+.2f}".replace("-0.00", "+0.00")
    return f"{cost.mean:.2f}, {knows}{note}"
