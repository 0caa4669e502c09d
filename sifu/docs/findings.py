"""What the README says of the replication: its picture, four findings in words, and a short table."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pandas as pd

from sifu.config.scenario import Scenario
from sifu.config.variant import Variant
from sifu.plan.load import read_named
from sifu.replication.claims.stored_tables import DATASETS, SHOWN_ONLY, StoredTables, read_tables
from sifu.replication.published import Published
from sifu.report.tables import markdown
from sifu.report.totals import request_totals

_ROWS = ("scratch", "fine_tuning", "sifu", "sifu_strict", "last", "fed_eraser_searched", "fed_accum", "dp_released")
_KEPT = 1.05  # times the claimed delta: more is a broken promise, less is rounding


def overview(root: Path, run: Published) -> str:
    """The picture of what unlearning costs, and whether the clients were forgotten."""
    path = (run.figures / "overview.png").relative_to(root)
    return f"![what every method costs on every dataset, and whether the clients were forgotten]({path.as_posix()})"


def findings(root: Path, run: Published) -> str:
    """Four findings of the replication, a line each."""
    tables = read_tables(run.folder)
    totals = _of_datasets(tables)
    sifu, tuned, eraser, strict = (
        totals[totals["variant"] == name] for name in ("sifu", "fine_tuning", "fed_eraser_searched", "sifu_strict")
    )
    broken, kept = (_broken(tables, name) for name in ("sifu", "sifu_strict"))
    lines = [
        f"**SIFU is cheaper than training again.** It takes {_costs(sifu)} of scratch's client steps. Accuracy on the "
        f"forgotten clients is at most {sifu['gap'].abs().max():.2f} from scratch's.",
        f"**Fine-tuning is cheapest, and does not forget.** It takes {_costs(tuned)}. Accuracy on the forgotten "
        f"clients stays {tuned['gap'].min():.2f} to {tuned['gap'].max():.2f} above scratch's.",
        f"**FedEraser forgets at a similar price.** With searched settings it takes {_costs(eraser)}, at most "
        f"{eraser['gap'].abs().max():.2f} from scratch's accuracy. It promises nothing.",
        f"**SIFU's certificate does not cover a request.** It counts single clients. For all clients of a request "
        f"together, the promised delta is exceeded in {broken:.0%} of the answers. SIFU with strict "
        f"counting exceeds it in {kept:.0%} by that count, which assumes B = 1, and takes {_costs(strict)}.",
    ]
    return "\n".join(f"{number}. {text}" for number, text in enumerate(lines, start=1))


def costs(root: Path, run: Published) -> str:
    """A row a method, a column a dataset: client steps relative to scratch's, and the gap of accuracy."""
    tables = read_tables(run.folder)
    scenarios = read_named(Scenario, root / "config" / "scenarios.yaml", "scenarios")
    variants = read_named(Variant, root / "config" / "variants.yaml", "variants")
    totals = request_totals(tables.cells, tables.metrics).to_dict("records")
    found = {(row["scenario"], row["variant"]): row for row in totals}
    ran = [name for name in (*DATASETS, *SHOWN_ONLY) if (name, "scratch") in found]
    rows = [[variants[variant].label, *(_cell(found.get((name, variant))) for name in ran)] for variant in _ROWS]
    titles = [scenarios[name].label for name in ran]
    return markdown(pd.DataFrame(rows, columns=["method", *titles]), "").strip()


def _cell(row: dict[Hashable, Any] | None) -> str:
    """`70%, +0.08`, or in how many seeds the target was reached where these are fewer than half."""
    if row is None:
        return "not run"
    if 2 * row["compared"] < row["seeds"]:
        return f"{row['compared']} of {row['seeds']} seeds"
    return f"{row['cost']:.0%}, {row['gap']:+.2f}".replace("-0.00", "+0.00")


def _of_datasets(tables: StoredTables) -> pd.DataFrame:
    """Totals on the paper's datasets, without marks."""
    totals = request_totals(tables.cells, tables.metrics)
    return totals[totals["scenario"].isin(DATASETS)]


def _costs(totals: pd.DataFrame) -> str:
    return f"{totals['cost'].min():.0%} to {totals['cost'].max():.0%}"


def _broken(tables: StoredTables, variant: str) -> float:
    """The share of a variant's answers whose actual delta is above the claimed one."""
    cells = tables.cells
    own = cells[(cells["variant"] == variant) & (cells["stop"] == "target") & cells["scenario"].isin(DATASETS)]
    own = own.dropna(subset=["claimed_delta", "actual_delta"])
    return float((own["actual_delta"] > _KEPT * own["claimed_delta"]).mean())
