"""page: tables and figures -> one HTML file that opens offline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sifu.plan.report_plan import ReportPlan
from sifu.report.leaderboard import RowCommand
from sifu.report.page import FigureCommand, build_page
from sifu.report.results import Results
from sifu.report.verdict_strip import ClaimRow
from sifu.store.parquet import write_text
from sifu.store.paths import report_page


def run_page(
    plan: ReportPlan,
    folder: Path,
    command: str,
    claims: Sequence[ClaimRow] = (),
    again: RowCommand | None = None,
    draw: FigureCommand | None = None,
) -> None:
    """Writes `folder`/report.html; `claims`, `again` and `draw` as in `build_page`."""
    write_text(report_page(folder), build_page(Results(plan), folder, command, claims, again, draw))
