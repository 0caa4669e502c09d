"""The picture of the report in Markdown: on a phone its narrow version takes its place."""

from __future__ import annotations

from html import escape
from pathlib import Path

from sifu.replication.published import REPLICATION, Published
from sifu.store.paths import PICTURE, figure_file, narrow_picture, report_folder

PHONE = "(max-width: 600px)"
_ALT = "what every method costs on every dataset, and whether the clients were forgotten"


def overview(root: Path, run: Published) -> str:
    """The picture of what unlearning costs, and whether the clients were forgotten, as README shows it."""
    return picture(root, "")


def picture(root: Path, above: str) -> str:
    """Markdown, or HTML that GitHub allows too where there is a narrow version; `above`: leads to the checkout."""
    report = report_folder(REPLICATION)
    wide, narrow = figure_file(report, PICTURE, "png"), narrow_picture(report)
    if not (root / narrow).exists():
        return f"![{_ALT}]({above}{wide.as_posix()})"
    return two_pictures(above + wide.as_posix(), above + narrow.as_posix(), _ALT)


def two_pictures(wide: str, narrow: str, alt: str) -> str:
    """One picture in two widths, as `sifu/docs/markdown_page.py` lets it pass."""
    source = f'<source media="{PHONE}" srcset="{escape(narrow)}">'
    return f'<picture>{source}<img alt="{escape(alt)}" src="{escape(wide)}"></picture>'
