"""page: tables and figures -> one HTML file that opens offline."""

from __future__ import annotations

from pathlib import Path

from sifu.plan.report_plan import ReportPlan
from sifu.report.page import build_page
from sifu.report.results import Results
from sifu.store.parquet import write_text
from sifu.store.paths import report_page


def run_page(plan: ReportPlan, folder: Path, command: str) -> None:
    """Writes `folder`/report.html."""
    write_text(report_page(folder), build_page(Results(plan), folder, command))
