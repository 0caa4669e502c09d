"""Texts of the suite as HTML: what stands in backticks is code, a link to a page of the docs leads there."""

from __future__ import annotations

import os
import re
from html import escape
from pathlib import Path

CLAIMS = Path("docs", "replication")  # in a checkout: where the page with the claims lies, whose texts have links
_MARKS = re.compile(
    r"`(?P<code>[^`]+)`|\[(?P<words>[^\]]+)\]\((?P<link>[\w./-]+\.md)\)|(?P<named>\bdocs/[\w/-]+\.md)", re.ASCII
)


def marked(text: str, folder: Path | None = None) -> str:
    """A text with its marks in place; everything else is escaped. `folder`: where the HTML page lies.

    A page that is not in this checkout, or a `folder` outside of it, leaves the words of a link.
    """
    parts, end = [], 0
    for found in _MARKS.finditer(text):
        parts += [escape(text[end : found.start()]), _html(found, folder)]
        end = found.end()
    return "".join([*parts, escape(text[end:])])


def _html(found: re.Match[str], folder: Path | None) -> str:
    if found["code"]:
        return f"<code>{escape(found['code'])}</code>"
    page = Path(found["named"]) if found["named"] else Path(os.path.normpath(CLAIMS / found["link"]))
    words = escape(found["words"] or found["named"])
    if folder is None or folder.is_absolute() or page.parts[0] != "docs" or not page.is_file():
        return words
    return f'<a href="{escape(Path(os.path.relpath(page, folder)).as_posix())}">{words}</a>'
