"""page: tables and figures -> one HTML file that opens offline."""

from __future__ import annotations

from pathlib import Path

from sifu.report.page import build_page
from sifu.report.plan import Plan, Source
from sifu.store import write_text


def run_page(plan: Plan, folder: Path, command: str) -> None:
    """Writes `folder`/report.html."""
    write_text(folder / "report.html", build_page(Source(plan), folder, command))
