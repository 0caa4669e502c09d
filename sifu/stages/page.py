"""page: tables and figures -> one HTML file that opens offline, and its picture as wide as a phone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from sifu.plan.report_plan import ReportPlan
from sifu.report.figures.overview import draw_narrow
from sifu.report.image import SHARP, write_png
from sifu.report.leaderboard import RowCommand
from sifu.report.page import FigureCommand, build_page
from sifu.report.plain_text import for_figures
from sifu.report.results import Results
from sifu.report.verdict_strip import ClaimRow
from sifu.store.parquet import write_text
from sifu.store.paths import narrow_picture, report_page

MAX_BYTES = 2_000_000  # of a page, figures included: a phone opens it, and mail takes it


def run_page(
    plan: ReportPlan,
    folder: Path,
    command: str,
    claims: Sequence[ClaimRow] = (),
    again: RowCommand | None = None,
    draw: FigureCommand | None = None,
) -> None:
    """Writes `folder`/report.html and its narrow picture; `claims`, `again` and `draw` as in `build_page`.

    Says so where the page has grown too large to be sent by mail or opened on a phone.
    """
    write_png(narrow_picture(folder), draw_narrow(Results(for_figures(plan))), SHARP)
    text = build_page(Results(plan), folder, command, claims, again, draw)
    write_text(report_page(folder), text)
    _warn(report_page(folder), len(text.encode()))


def _warn(page: Path, size: int) -> None:
    if size > MAX_BYTES:
        words = f"{size:,} bytes, more than {MAX_BYTES:,}"
        print(f"warning: {page} has {words}: draw fewer figures, or report fewer scenarios", file=sys.stderr)
