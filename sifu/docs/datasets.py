"""Every method on every dataset of the replication: what it costs beside scratch, and what it still knows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sifu.replication.claims.claim import Measured
from sifu.replication.claims.forgetting import beyond_scratch
from sifu.replication.claims.rounds import share_of_scratch
from sifu.replication.claims.tables import BESIDE, DATASETS, REFERENCE, Tables, read_tables
from sifu.replication.published import REPLICATION, described
from sifu.report.tables import markdown

CONFIG = Path("config", "paper.yaml")
_NOT_RUN = "-"


def datasets(root: Path) -> str:
    """A row a method, a column a dataset that was run; a sentence until there is a replication."""
    folder = root / REPLICATION
    if not (folder / "manifest.json").exists():
        return f"Not run yet: `{REPLICATION}` has no manifest."
    plan, tables = described(root / CONFIG), read_tables(folder)
    run = [name for name in (*DATASETS, *BESIDE) if tables.ran(name, REFERENCE)]
    rows = [
        [variant["label"], *(_cell(tables, scenario, name) for scenario in run)]
        for name, variant in plan["variants"].items()
        if name != "original"  # has no recovery to have a cost
    ]
    titles = [plan["scenarios"][name]["label"] for name in run]
    return markdown(pd.DataFrame(rows, columns=["method", *titles]), "").strip()


def _cell(tables: Tables, scenario: str, variant: str) -> str:
    """Client steps over scratch's and accuracy on those who left minus scratch's, or how many seeds got there."""
    ran = tables.ran(scenario, variant)
    cost = Measured.of(share_of_scratch(tables, scenario, variant, "client_steps"))
    beyond = Measured.of(beyond_scratch(tables, scenario, variant))
    if cost is None or beyond is None or 2 * cost.seeds < ran:
        return f"{cost.seeds if cost else 0} of {ran} seeds" if ran else _NOT_RUN
    note = f" ({cost.seeds} of {ran})" if cost.seeds < ran else ""
    return f"{cost.mean:.2f}, {beyond.mean:+.2f}{note}".replace("-0.00", "+0.00")
