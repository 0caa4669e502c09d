"""What the twin test of many models says of the methods: a table for docs/forgetting.md, and sentences."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from sifu.docs.measured_text import table_text
from sifu.docs.named import scenarios, variants
from sifu.replication.claims.stored_tables import StoredTables, read_tables
from sifu.replication.published import Published
from sifu.report.forgetting import ORIGINAL, TOGETHER, answer
from sifu.report.totals import request_totals

_COLUMNS = (
    *("method", "cost", "rounds used", "told from retraining", "by twins", "shift", "share forgotten"),
    *("forgotten?", "relearn time"),
)
_NOTHING = "No federation with twins has been run yet."
_ORDER = ("yes", "cannot tell", "nothing to forget", "no")
_LEVEL = 0.05  # of the p-value of being told from retraining


class TwinTest(NamedTuple):
    """The answer to the first request in one federation, the AUC by twins, and how well it is told from retraining."""

    federation: str
    auc: float
    forgotten: str  # yes | no | cannot tell | nothing to forget
    told_auc: float
    told_p: float

    @property
    def words(self) -> str:
        found = {"yes": "its clients are forgotten", "no": "its clients are still found"}.get(
            self.forgotten, "it cannot be told"
        )
        told = self.forgotten == "yes" and self.told_p < _LEVEL
        odd = f", though its models are told from retrained ones (AUC {self.told_auc:.2f})" if told else ""
        return f"{found} ({self.federation}: AUC {self.auc:.3f}){odd}"


def twin_tests(root: Path, tables: StoredTables, variant: str) -> list[TwinTest]:
    """The twin tests of a variant, federation by federation."""
    rows = _together(tables)
    rows = rows[(rows["variant"] == variant) & (rows["request"] == 1)]
    labels = {name: one.label for name, one in scenarios(root).items()}
    parts = (rows[name] for name in ("scenario", "twins_auc", "forgotten", "retrain_auc", "retrain_p"))
    return [TwinTest(labels[scenario], *more) for scenario, *more in zip(*parts, strict=True)]


def in_sentences(tests: list[TwinTest], *, explained: bool = False) -> str:
    """Whether a method's clients are forgotten by the twin test, with a space before it; nothing without one.

    `explained`: where to read what that test is, and what AUC chance has.
    """
    test = "[twin test](docs/forgetting.md)" if explained else "twin test"
    chance = "; an AUC of 0.5 is chance" if explained else ""
    return "".join(f" By the {test} {one.words}{chance}." for one in tests)


def forgotten_by_twins(root: Path, run: Published) -> str:
    """For each federation with twins a table of its methods: those that forget first, the cheapest of them on top."""
    tables = read_tables(run.folder)
    tested = set(_together(tables)["scenario"])
    return "\n\n".join(_table(root, tables, name) for name in scenarios(root) if name in tested) or _NOTHING


def _table(root: Path, tables: StoredTables, scenario: str) -> str:
    """The methods of one federation, and how many models were compared."""
    rows = _together(tables)
    rows = rows[rows["scenario"] == scenario]
    labels = {ORIGINAL: "Original"} | {name: one.label for name, one in variants(root).items()}
    costs = _costs(tables, scenario)
    listed = [row for row in rows.to_dict("records") if row["variant"] in labels]
    listed.sort(key=lambda row: (_ORDER.index(row["forgotten"]), costs.get(row["variant"], float("inf"))))
    starts = {row["variant"]: tables.went_back_to(scenario, row["variant"]).mean() for row in listed}
    cells = [
        [labels[name], _percent(costs.get(name)), _whole(starts[name]), *_numbers(row)]
        for name, row in ((row["variant"], row) for row in listed)
    ]
    null, title = rows["twins_null"].max(), scenarios(root)[scenario].label
    head = f"{title}, {int(rows['models'].min())} models a world, request 1 (by twins: null 0.50 +- {null:.2f}):"
    return f"{head}\n\n{table_text(cells, *_COLUMNS).strip()}"


def _numbers(row: dict[Hashable, Any]) -> list[str]:
    """The columns of a row after the rounds that it uses."""
    share = f"{row['share']:.2f} [{row['share_low']:.2f}, {row['share_high']:.2f}]"
    relearn = "-" if pd.isna(row["relearn"]) else f"{row['relearn']:.2f}"
    shift = f"{row['twins_shift']:.1f}".replace("-0.0", "0.0")
    return [f"{row['retrain_auc']:.2f}", f"{row['twins_auc']:.2f}", shift, share, answer(row), relearn]


def _whole(value: float) -> str:
    return "-" if pd.isna(value) else f"{value:,.0f}"


def _costs(tables: StoredTables, scenario: str) -> dict[str, float]:
    """Client steps relative to scratch's, of the methods that reach the target in most seeds."""
    totals = request_totals(tables.cells, tables.metrics)
    rows = totals[(totals["scenario"] == scenario) & (2 * totals["compared"] >= totals["seeds"])]
    return dict(zip(rows["variant"], rows["cost"], strict=True))


def _percent(cost: float | None) -> str:
    return "-" if cost is None or pd.isna(cost) else f"{cost:.0%}"


def _together(tables: StoredTables) -> pd.DataFrame:
    """The rows about all clients of a request that have a twin test."""
    rows = tables.forgetting
    return rows[(rows["client"] == TOGETHER) & rows["twins_auc"].notna()]
