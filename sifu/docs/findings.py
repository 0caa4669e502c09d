"""What the README says of the replication: its picture, four findings in words, and a short table."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pandas as pd

from sifu.config.scenario import Scenario
from sifu.config.variant import Variant
from sifu.docs.replication_run import trained_on
from sifu.plan.load import read_named
from sifu.replication.claims.forgetting import BEYOND
from sifu.replication.claims.stored_tables import DATASETS, SHOWN_ONLY, StoredTables, read_tables
from sifu.replication.published import CONFIG, Published, described
from sifu.report.data_used import parts_in_words
from sifu.report.tables import markdown
from sifu.report.totals import request_totals

_ROWS = (
    *("scratch", "fine_tuning", "sifu", "sifu_released", "sifu_strict", "fed_eraser_released"),
    *("fed_eraser_searched", "dp_released"),
)
_KEPT = 1.05  # times the claimed delta: more is a broken promise, less is rounding


def overview(root: Path, run: Published) -> str:
    """The picture of what unlearning costs, and whether the clients were forgotten."""
    path = (run.figures / "overview.png").relative_to(root)
    return f"![what every method costs on every dataset, and whether the clients were forgotten]({path.as_posix()})"


def data(root: Path, run: Published) -> str:
    """That only a part of some datasets was used, and where all deviations are listed."""
    parts = parts_in_words(trained_on(run.folder))
    table = "[every deviation from the paper](docs/replication/deviations.md)"
    return f"{_so_far(root, run)}{parts} One table has {table}.".strip()


def _so_far(root: Path, run: Published) -> str:
    """Which of the paper's datasets have how many seeds, where some are missing; else nothing."""
    planned, tables = len(described(root / CONFIG)["seeds"]), read_tables(run.folder)
    seeds = {
        scenario.label: tables.ran(name, "scratch") for name, scenario in _scenarios(root).items() if name in DATASETS
    }
    if all(count >= planned for count in seeds.values()):
        return ""
    done = ", ".join(f"{label} {count}" for label, count in seeds.items() if count)
    missing = ", ".join(label for label, count in seeds.items() if not count)
    return f"Seeds so far, of {planned}: {done}.{f' Not yet: {missing}.' if missing else ''} "


def findings(root: Path, run: Published) -> str:
    """Four findings of the replication, a line each; their heads follow from the numbers."""
    tables = read_tables(run.folder)
    totals = _of_datasets(tables)
    lines = [
        _sifu(_of(totals, "sifu"), _of(totals, "sifu_released")),
        _fine_tuning(_of(totals, "fine_tuning")),
        _fed_eraser(_of(totals, "fed_eraser_searched")),
        _certificate(tables, _of(totals, "sifu_strict")),
    ]
    return "\n".join(f"{number}. {text}" for number, text in enumerate(lines, start=1))


def _of(totals: pd.DataFrame, variant: str) -> pd.DataFrame:
    """A variant's totals on the datasets where it could be compared with scratch."""
    return totals[(totals["variant"] == variant) & totals["cost"].notna() & totals["gap"].notna()]


def _sifu(sifu: pd.DataFrame, released: pd.DataFrame) -> str:
    cheaper = len(sifu) > 0 and bool((sifu["cost"] < 1).all())
    head = "SIFU is cheaper than training again." if cheaper else "SIFU is not always cheaper than training again."
    if not len(sifu):
        return "**SIFU was not run.**"
    code = f" As the paper's code has it, it takes {_costs(released)}." if len(released) else ""
    return (
        f"**{head}** It takes {_costs(sifu)} of scratch's client steps.{code} Accuracy on the forgotten clients is at "
        f"most {sifu['gap'].abs().max():.2f} from scratch's."
    )


def _fine_tuning(tuned: pd.DataFrame) -> str:
    if not len(tuned):
        return "**Fine-tuning was not run.**"
    known = tuned["gap"] > BEYOND
    words = "does not forget" if known.all() else "does not always forget" if known.any() else "forgets"
    low, high = tuned["gap"].min(), tuned["gap"].max()
    return (
        f"**Fine-tuning {words}.** It takes {_costs(tuned)}. Accuracy on the forgotten clients minus scratch's: "
        f"{low:+.2f} to {high:+.2f}."
    )


def _fed_eraser(eraser: pd.DataFrame) -> str:
    if not len(eraser):
        return "**FedEraser with searched settings was not run.**"
    forgets = bool((eraser["gap"].abs() <= BEYOND).all())
    head = "FedEraser forgets, and promises nothing." if forgets else "FedEraser does not always forget."
    return (
        f"**{head}** With searched settings it takes {_costs(eraser)}, at most {eraser['gap'].abs().max():.2f} from "
        "scratch's accuracy."
    )


def _certificate(tables: StoredTables, strict: pd.DataFrame) -> str:
    broken, kept = (_broken(tables, name) for name in ("sifu", "sifu_strict"))
    if broken is None or kept is None:
        return "**Certificates were not run.**"
    covers = "does not cover" if broken > 0 else "covers"
    cost = f", and takes {_costs(strict)}" if len(strict) else ""
    return (
        f"**SIFU's certificate {covers} a request.** It counts single clients. For all clients of a request together, "
        f"the promised delta is exceeded in {broken:.0%} of the answers. SIFU with strict counting exceeds it in "
        f"{kept:.0%} by that count, which assumes B = 1{cost}."
    )


def costs(root: Path, run: Published) -> str:
    """A row a method, a column a dataset: client steps relative to scratch's, and the gap of accuracy."""
    tables = read_tables(run.folder)
    scenarios = _scenarios(root)
    variants = read_named(Variant, root / "config" / "variants.yaml", "variants")
    totals = request_totals(tables.cells, tables.metrics).to_dict("records")
    found = {(row["scenario"], row["variant"]): row for row in totals}
    ran = [name for name in (*DATASETS, *SHOWN_ONLY) if (name, "scratch") in found]
    rows = [[variants[variant].label, *(_cell(found.get((name, variant))) for name in ran)] for variant in _ROWS]
    titles = [f"{scenarios[name].label}{_floor(found[name, 'scratch'])}" for name in ran]
    return markdown(pd.DataFrame(rows, columns=["method", *titles]), "").strip()


def _cell(row: dict[Hashable, Any] | None) -> str:
    """`70%, +0.08`, or in how many seeds the target was reached where these are fewer than half."""
    if row is None:
        return "not run"
    if 2 * row["compared"] < row["seeds"]:
        return f"{row['compared']} of {row['seeds']} seeds"
    gap = "-" if pd.isna(row["gap"]) else f"{row['gap']:+.2f}".replace("-0.00", "+0.00")
    return f"{row['cost']:.0%}, {gap}"


def _floor(row: dict[Hashable, Any]) -> str:
    """The floor of a dataset's gaps, where scratch was run again."""
    return "" if pd.isna(row["floor"]) else f" (floor {row['floor']:.3f})"


def _of_datasets(tables: StoredTables) -> pd.DataFrame:
    """Totals on the paper's datasets, without marks."""
    totals = request_totals(tables.cells, tables.metrics)
    return totals[totals["scenario"].isin(DATASETS)]


def _costs(totals: pd.DataFrame) -> str:
    low, high = f"{totals['cost'].min():.0%}", f"{totals['cost'].max():.0%}"
    return low if low == high else f"{low} to {high}"


def _broken(tables: StoredTables, variant: str) -> float | None:
    """The share of a variant's answers whose actual delta is above the claimed one; None without an answer."""
    cells = tables.cells
    own = cells[(cells["variant"] == variant) & (cells["stop"] == "target") & cells["scenario"].isin(DATASETS)]
    own = own.dropna(subset=["claimed_delta", "actual_delta"])
    return float((own["actual_delta"] > _KEPT * own["claimed_delta"]).mean()) if len(own) else None


def _scenarios(root: Path) -> dict[str, Scenario]:
    return read_named(Scenario, root / "config" / "scenarios.yaml", "scenarios")
